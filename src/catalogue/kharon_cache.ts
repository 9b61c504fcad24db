import { isMapping } from "../config/mod.ts";
import type { Files } from "../world/mod.ts";
import { PosternError } from "../words/mod.ts";
import type { Catalogue, FactWarning, SuffixMapping } from "../clusters/mod.ts";
import { readClusters } from "./read_clusters.ts";

export interface KharonCacheOptions {
  readonly files: Pick<Files, "info" | "readTextIfThere">;
  /** kharon's directory in the user's place for caches: `io.vshn.kharon`. */
  readonly directory: string;
  /** What the catalogue is to be called. */
  readonly name: string;
}

/** A catalogue that another tool has left. */
export interface ImportedCatalogue {
  readonly catalogue: Catalogue;
  readonly warnings: readonly FactWarning[];
  readonly ignored: readonly string[];
}

/** What kharon knows: its inventory, and what its mapping says beside that. Undefined where it has left neither. */
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

/** Reads `inventory.json`: `{ version: 1, clusters: […] }`, the clusters as Lieutenant gives them. */
function readKharonInventory(content: string, path: string): ReturnType<typeof readClusters> {
  const value = parsed(content, path);
  demandVersion(value["version"], path);
  if (!Array.isArray(value["clusters"])) throw unreadable(path, "it has no list of clusters");
  return readClusters(value["clusters"]);
}

/**
 * Reads a mapping of kharon in any of its forms: suffix to jump host alone, or `{ version: 1, mapping: {…} }`, later
 * with a list of suffixes beside it that go direct.
 */
export function readKharonMapping(content: string, path: string): SuffixMapping {
  const value = parsed(content, path);
  if (!Object.hasOwn(value, "version")) return { jumphosts: jumphostsOf(value, path), direct: [] };
  demandVersion(value["version"], path);
  const { mapping } = value;
  if (!isMapping(mapping)) throw unreadable(path, "it has no mapping");
  // How the list is called is not known; there is no other one.
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
  throw unreadable(path, `it has ${found}, and only version 1 is known`);
}

function jumphostsOf(
  mapping: Readonly<Record<string, unknown>>,
  path: string,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(mapping).map(([suffix, jumphost]) => {
      if (typeof jumphost === "string") return [suffix, jumphost];
      throw unreadable(path, `the jump host of ${JSON.stringify(suffix.slice(0, 60))} is not a text`);
    }),
  );
}

function unreadable(path: string, why: string, cause?: unknown): PosternError {
  return new PosternError("config", `Cannot read "${path}": ${why}`, {
    cause,
    hint: "let kharon write it anew: kharon update",
  });
}
