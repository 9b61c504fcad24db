import { isMapping } from "../config/mod.ts";
import { PosternError } from "../words/mod.ts";
import type { Catalogue, SuffixMapping } from "../clusters/mod.ts";
import { readClusters } from "./read_clusters.ts";

/** The form in which catalogues are stored; a larger number is that of a newer postern. */
export const storedFormat = 1;

/** Reads a catalogue as it was stored by `JSON.stringify`; `damaged` where it is none. */
export function readStoredCatalogue(value: unknown, path: string): Catalogue {
  if (isMapping(value)) {
    const { name, source, fetched, clusters, mapping } = value;
    const isTime = typeof fetched === "string" && !Number.isNaN(Date.parse(fetched));
    if (typeof name === "string" && typeof source === "string" && isTime && Array.isArray(clusters)) {
      const read = readMapping(mapping);
      return {
        name,
        source,
        fetched,
        clusters: readClusters(clusters).clusters,
        ...(read && { mapping: read }),
      };
    }
  }
  throw damagedStore(path, "it holds something that is no catalogue");
}

/** Refuses what a newer postern has stored. */
export function demandKnownFormat(format: unknown, path: string): void {
  if (format === undefined || format === storedFormat) return;
  if (typeof format !== "number") throw damagedStore(path, "it does not tell its format");
  throw new PosternError("config", `Cannot use "${path}": it is of a newer postern (format ${format})`, {
    detail: "newer",
    hint: "use the newer postern, or begin anew with this one: postern update",
  });
}

/** A store that cannot be read any more. */
export function damagedStore(path: string, why: string): PosternError {
  return new PosternError("config", `Cannot use "${path}": it is damaged: ${why}`, { detail: "damaged" });
}

function readMapping(value: unknown): SuffixMapping | undefined {
  if (!isMapping(value) || !isMapping(value["jumphosts"])) return undefined;
  const jumphosts = Object.entries(value["jumphosts"]).filter(isTextEntry);
  const direct = Array.isArray(value["direct"])
    ? value["direct"].filter((item) => typeof item === "string")
    : [];
  return { jumphosts: Object.fromEntries(jumphosts), direct };
}

function isTextEntry(entry: [string, unknown]): entry is [string, string] {
  return typeof entry[1] === "string";
}
