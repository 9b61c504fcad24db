import { keyTypeOf } from "../keys/ssh_keys.ts";

/**
 * Returns the algorithms in the order to offer them: first those with known keys, then the others in their
 * order. A server picks the first one that it supports, and postern would reject a key that is not known
 * (golang/go 29286).
 */
export function orderedHostKeyAlgorithms(
  knownTypes: ReadonlySet<string>,
  offered: readonly string[],
): string[] {
  const isKnown = (algorithm: string) => knownTypes.has(keyTypeOf(algorithm) ?? "");
  return [...offered.filter(isKnown), ...offered.filter((algorithm) => !isKnown(algorithm))];
}
