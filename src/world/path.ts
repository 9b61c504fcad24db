/** The directory of a path; that of a bare name is where we are. */
export function directoryOf(path: string): string {
  if (!/[/\\]/.test(path)) return ".";
  return path.replace(/[/\\][^/\\]*$/, "") || "/";
}

/** The last part of a path. */
export function fileNameOf(path: string): string {
  return path.replace(/^.*[/\\]/s, "");
}
