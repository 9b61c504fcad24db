import { keyTypeOf } from "../keys/ssh_keys.ts";

/**
 * The algorithms in the order to offer them: first those whose keys are known, else as they were. A server picks
 * the first that it has, and one whose key is not known would be refused (golang/go 29286).
 */
export function orderedHostKeyAlgorithms(
  knownTypes: ReadonlySet<string>,
  offered: readonly string[],
): string[] {
  const isKnown = (algorithm: string) => knownTypes.has(keyTypeOf(algorithm) ?? "");
  return [...offered.filter(isKnown), ...offered.filter((algorithm) => !isKnown(algorithm))];
}
