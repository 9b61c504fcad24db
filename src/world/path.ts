/** The directory of a path; that of a bare name is where we are. */
export function directoryOf(path: string): string {
  if (!/[/\\]/.test(path)) return ".";
  return path.replace(/[/\\][^/\\]*$/, "") || "/";
}

/** The last part of a path. */
export function fileNameOf(path: string): string {
  return path.replace(/^.*[/\\]/s, "");
}

/** A path of any platform made absolute: a relative one begins in `directory`. */
export function absoluteFrom(directory: string, path: string): string {
  return /^(?:[/\\]|[A-Za-z]:[/\\])/.test(path) ? path : `${directory}/${path}`;
}
