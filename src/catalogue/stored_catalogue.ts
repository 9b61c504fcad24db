import { isMapping } from "../config/mod.ts";
import { PosternError } from "../words/mod.ts";
import type { Catalogue, SuffixMapping } from "../clusters/mod.ts";
import { readClusters } from "./read_clusters.ts";

/** The format of stored catalogues; a newer postern increments it. */
export const storedFormat = 1;

/** Reads a catalogue that was stored with `JSON.stringify`; throws `damaged` for any other value. */
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
  throw damagedStore(path, "it contains a value that is not a catalogue");
}

/** Throws if a newer postern stored the value. */
export function demandKnownFormat(format: unknown, path: string): void {
  if (format === undefined || format === storedFormat) return;
  if (typeof format !== "number") throw damagedStore(path, "its format is missing");
  throw new PosternError("config", `Cannot use "${path}": a newer postern wrote it (format ${format})`, {
    detail: "newer",
    hint: "use the newer postern, or fetch the catalogue again with this one: postern update",
  });
}

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
