import { isMapping } from "../config/mod.ts";
import type { Files } from "../world/mod.ts";
import { PosternError } from "../words/mod.ts";
import type { Catalogue, FactWarning, SuffixMapping } from "../clusters/mod.ts";
import { readClusters } from "./read_clusters.ts";

export interface KharonCacheOptions {
  readonly files: Pick<Files, "info" | "readTextIfThere">;
  /** kharon's directory in the user's cache directory: `io.vshn.kharon`. */
  readonly directory: string;
  /** The name for the catalogue. */
  readonly name: string;
}

/** A catalogue from the files of another program. */
export interface ImportedCatalogue {
  readonly catalogue: Catalogue;
  readonly warnings: readonly FactWarning[];
  readonly ignored: readonly string[];
}

/** Reads kharon's inventory and the mapping next to it. Undefined if neither file exists. */
export async function readKharonCache(
  { files, directory, name }: KharonCacheOptions,
): Promise<ImportedCatalogue | undefined> {
  const inventoryPath = `${directory}/inventory.json`;
  const mappingPath = `${directory}/proxy/domain_jumphost_mapping.json`;
  const inventory = await files.readTextIfThere(inventoryPath);
  const mapping = await files.readTextIfThere(mappingPath);
  if (inventory === undefined && mapping === undefined) return undefined;
  const source = inventory === undefined ? mappingPath : inventoryPath;
  const { clusters, warnings, ignored } = inventory === undefined
    ? { clusters: [], warnings: [], ignored: [] }
    : readKharonInventory(inventory, inventoryPath);
  const catalogue: Catalogue = {
    name,
    source,
    fetched: new Date((await files.info(source))?.modified ?? 0).toISOString(),
    clusters,
    ...(mapping !== undefined && { mapping: readKharonMapping(mapping, mappingPath) }),
  };
  return { catalogue, warnings, ignored };
}

/** Reads `inventory.json`: `{ version: 1, clusters: […] }` with the clusters as Lieutenant returns them. */
function readKharonInventory(content: string, path: string): ReturnType<typeof readClusters> {
  const value = parsed(content, path);
  demandVersion(value["version"], path);
  if (!Array.isArray(value["clusters"])) throw unreadable(path, "it has no list of clusters");
  return readClusters(value["clusters"]);
}

/**
 * Reads a mapping of kharon in any of its forms: an object of suffix to jump host, or `{ version: 1, mapping:
 * {…} }`, in later versions with a list of suffixes that go direct.
 */
export function readKharonMapping(content: string, path: string): SuffixMapping {
  const value = parsed(content, path);
  if (!Object.hasOwn(value, "version")) return { jumphosts: jumphostsOf(value, path), direct: [] };
  demandVersion(value["version"], path);
  const { mapping } = value;
  if (!isMapping(mapping)) throw unreadable(path, "it has no mapping");
  // The key of the direct list is unknown, but the file contains no other list.
  const direct = Object.values(value).filter((part) => Array.isArray(part)).flat();
  return {
    jumphosts: jumphostsOf(mapping, path),
    direct: direct.filter((suffix) => typeof suffix === "string"),
  };
}

function parsed(content: string, path: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch (cause) {
    throw unreadable(path, "it is not JSON", cause);
  }
  if (!isMapping(value)) throw unreadable(path, "it is not an object");
  return value;
}

function demandVersion(version: unknown, path: string): void {
  if (version === 1) return;
  const found = version === undefined ? "no version" : `version ${JSON.stringify(version).slice(0, 20)}`;
  throw unreadable(path, `it has ${found}; postern reads only version 1`);
}

function jumphostsOf(
  mapping: Readonly<Record<string, unknown>>,
  path: string,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(mapping).map(([suffix, jumphost]) => {
      if (typeof jumphost === "string") return [suffix, jumphost];
      throw unreadable(path, `the jump host of ${JSON.stringify(suffix.slice(0, 60))} is not a string`);
    }),
  );
}

function unreadable(path: string, why: string, cause?: unknown): PosternError {
  return new PosternError("config", `Cannot read "${path}": ${why}`, {
    cause,
    hint: "write the file again: kharon update",
  });
}
