// The YAML library by its names: an import of the package itself has none once it is bundled. Loaded for kubeconfigs
// that are not written as JSON.
import { parseDocument } from "yaml";

/** Of a fleet, every entry may be an alias of one; what multiplies itself is of another size. */
export const mostAliases = 10_000;

/** What a document of YAML holds, or what is wrong with it. */
export function yamlValue(text: string): { readonly value: unknown } | { readonly problem: string } {
  // As Go's reader, by which kubectl goes: keys are merged, and of one key that is there twice the last counts.
  const document = parseDocument(text, { logLevel: "silent", merge: true, uniqueKeys: false });
  const [mistake] = document.errors;
  if (mistake) return { problem: mistake.message.split("\n")[0]?.replace(/:$/, "") ?? "it is not YAML" };
  try {
    return { value: document.toJS({ maxAliasCount: mostAliases }) };
  } catch (error) {
    // An alias of nothing, or far too many of them.
    return { problem: error instanceof Error ? error.message : "it is not YAML" };
  }
}
