/** The systems that a release has a program for. */
export const releaseSystems = [
  "linux-x64",
  "linux-arm64",
  "macos-x64",
  "macos-arm64",
  "windows-x64",
  "windows-arm64",
] as const;

/** A system as the names of a release's files have it. */
export type ReleaseSystem = typeof releaseSystems[number];

/** What a release calls its program for a system. */
export function programName(version: string, system: ReleaseSystem): string {
  return `postern-${version}-${system}${system.startsWith("windows") ? ".exe" : ""}`;
}

/** What a release calls its manual. */
export function manualName(version: string): string {
  return `postern-${version}-manual.tar.gz`;
}

/** Where the files of a project's releases are, each version in its own directory. */
export function releasesOf(project: string): string {
  return `${projectUrl(project)}/releases/download`;
}

/** The address of a project without a slash at its end; what gets into programs has to be one. */
export function projectUrl(text: string): string {
  if (/^https:\/\/[\w.-]+(?::[0-9]+)?(?:\/[\w.-]+)+$/.test(text)) return text;
  throw new Error(`Cannot use "${text}" as the address of a project: write it as https://HOST/OWNER/NAME`);
}

/** The checksums of a `SHA256SUMS`, or of several `.sha256` one after the other, by the names of the files. */
export function readSums(text: string): ReadonlyMap<string, string> {
  const sums = new Map<string, string>();
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const [, sum, name] = /^([0-9a-f]{64}) [ *](\S+)$/.exec(line) ?? [];
    if (sum === undefined || name === undefined) throw new Error(`Cannot read the checksum "${line}"`);
    sums.set(name, sum);
  }
  return sums;
}
