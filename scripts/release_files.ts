/** The systems that a release supports. */
export const releaseSystems = [
  "linux-x64",
  "linux-arm64",
  "macos-x64",
  "macos-arm64",
  "windows-x64",
  "windows-arm64",
] as const;

/** An operating system and architecture, spelled as in the names of a release's files. */
export type ReleaseSystem = typeof releaseSystems[number];

/** The name of a release's program for a system. */
export function programName(version: string, system: ReleaseSystem): string {
  return `postern-${version}-${system}${system.startsWith("windows") ? ".exe" : ""}`;
}

/** The name of a release's manual. */
export function manualName(version: string): string {
  return `postern-${version}-manual.tar.gz`;
}

/** The address of a project's releases, which have one directory for each version. */
export function releasesOf(project: string): string {
  return `${projectUrl(project)}/releases/download`;
}

/** Validates the address of a project and removes a trailing slash. */
export function projectUrl(text: string): string {
  if (/^https:\/\/[\w.-]+(?::[0-9]+)?(?:\/[\w.-]+)+$/.test(text)) return text;
  throw new Error(`Cannot use "${text}" as the address of a project: write it as https://HOST/OWNER/NAME`);
}

/** Parses a `SHA256SUMS` file, or several concatenated `.sha256` files, into checksums by file name. */
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
