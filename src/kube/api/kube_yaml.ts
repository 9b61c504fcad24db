// Imports the YAML library by name: after bundling, the package import itself has no names. Loaded only for
// kubeconfigs that are not JSON.
import { parseDocument, YAMLError } from "yaml";

/** In a kubeconfig for a fleet, every entry may be an alias of one; an alias bomb needs far more. */
export const mostAliases = 10_000;

/** Parses a YAML document; returns its value or the problem. */
export function yamlValue(text: string): { readonly value: unknown } | { readonly problem: string } {
  // Like Go's parser, which kubectl uses: merge keys work, and the last of duplicate keys wins.
  const document = parseDocument(text, { logLevel: "silent", merge: true, uniqueKeys: false });
  const [mistake] = document.errors;
  if (mistake) return { problem: yamlProblem(mistake) };
  try {
    return { value: document.toJS({ maxAliasCount: mostAliases }) };
  } catch (error) {
    // An alias without an anchor, or far too many aliases.
    return { problem: yamlProblem(error) };
  }
}

/** The library's message with line and column, without the quoted text, which may be secret. */
export function yamlProblem(error: unknown): string {
  const [said = ""] = error instanceof Error ? error.message.split("\n") : [];
  const [place = ""] = / at line [0-9]+, column [0-9]+(?=:?$)/.exec(said) ?? [];
  if (error instanceof YAMLError && error.code === "TAG_RESOLVE_FAILED") return `unknown tag (!)${place}`;
  const [what = ""] = said.slice(0, said.lastIndexOf(place) || undefined).split(/(?<! ): |[\\]|:$/, 1);
  return what.trim() === "" ? "it is not valid YAML" : `${what.trim()}${place}`;
}
