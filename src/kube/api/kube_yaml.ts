// The YAML library by its names: an import of the package itself has none once it is bundled. Loaded for kubeconfigs
// that are not written as JSON.
import { parseDocument, YAMLError } from "yaml";

/** Of a fleet, every entry may be an alias of one; what multiplies itself is of another size. */
export const mostAliases = 10_000;

/** What a document of YAML holds, or what is wrong with it. */
export function yamlValue(text: string): { readonly value: unknown } | { readonly problem: string } {
  // As Go's reader, by which kubectl goes: keys are merged, and of one key that is there twice the last counts.
  const document = parseDocument(text, { logLevel: "silent", merge: true, uniqueKeys: false });
  const [mistake] = document.errors;
  if (mistake) return { problem: yamlProblem(mistake) };
  try {
    return { value: document.toJS({ maxAliasCount: mostAliases }) };
  } catch (error) {
    // An alias of nothing, or far too many of them.
    return { problem: yamlProblem(error) };
  }
}

/** What the library says is wrong, and where, without the text that it quotes: that may be a secret. */
export function yamlProblem(error: unknown): string {
  const [said = ""] = error instanceof Error ? error.message.split("\n") : [];
  const [place = ""] = / at line [0-9]+, column [0-9]+(?=:?$)/.exec(said) ?? [];
  if (error instanceof YAMLError && error.code === "TAG_RESOLVE_FAILED") return `a tag (!) is none${place}`;
  const [what = ""] = said.slice(0, said.lastIndexOf(place) || undefined).split(/(?<! ): |[\\]|:$/, 1);
  return what.trim() === "" ? "it is not YAML" : `${what.trim()}${place}`;
}
