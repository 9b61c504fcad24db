/** The directory of a path; "." for a bare file name. */
export function directoryOf(path: string): string {
  if (!/[/\\]/.test(path)) return ".";
  return path.replace(/[/\\][^/\\]*$/, "") || "/";
}

/** The last part of a path. */
export function fileNameOf(path: string): string {
  return path.replace(/^.*[/\\]/s, "");
}

/** Makes a path of any platform absolute, relative to `directory`. */
export function absoluteFrom(directory: string, path: string): string {
  return /^(?:[/\\]|[A-Za-z]:[/\\])/.test(path) ? path : `${directory}/${path}`;
}
