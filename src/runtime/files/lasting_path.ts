/**
 * The path of this program that stays valid after an upgrade, for files that store it. Homebrew has a
 * directory per version, and a link to the current one.
 */
export function lastingPath(path: string): string {
  const [, prefix, name] = /^(\/.*)\/Cellar\/postern\/[^/]+\/bin\/([^/]+)$/.exec(path) ?? [];
  return prefix === undefined ? path : `${prefix}/opt/postern/bin/${name}`;
}
