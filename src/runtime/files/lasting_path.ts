/**
 * The path of this program that is still right after an upgrade, for what is written down: Homebrew has a directory for
 * each version, and beside them a link to the one that is in use.
 */
export function lastingPath(path: string): string {
  const [, prefix, name] = /^(\/.*)\/Cellar\/postern\/[^/]+\/bin\/([^/]+)$/.exec(path) ?? [];
  return prefix === undefined ? path : `${prefix}/opt/postern/bin/${name}`;
}
