/** The directory of an absolute path. */
export function directoryOf(path: string): string {
  return path.replace(/[/\\][^/\\]*$/, "") || "/";
}

/** The last part of a path. */
export function fileNameOf(path: string): string {
  return path.replace(/^.*[/\\]/s, "");
}
