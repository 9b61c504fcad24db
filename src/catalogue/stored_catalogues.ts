import { directoryOf, type World } from "../world/mod.ts";
import { PosternError } from "../words/mod.ts";
import { CatalogueStore, type StoredCatalogues } from "./catalogue_store.ts";
import { readKharonCache } from "./kharon_cache.ts";

/**
 * The catalogues stored on this machine, without network requests; if there are none, kharon's files. Throws
 * `config` if there is neither.
 */
export async function storedCatalogues(
  { clock, files, stores, places }: Pick<World, "clock" | "files" | "stores" | "places">,
): Promise<StoredCatalogues> {
  const store = new CatalogueStore({ clock, files, stores, directory: `${places.cache}/catalogue` });
  const { catalogues, notes } = await store.read();
  if (catalogues.length > 0) return { catalogues, notes };
  const directory = `${directoryOf(places.cache)}/io.vshn.kharon`;
  const imported = await readKharonCache({ files, directory, name: "kharon" });
  if (!imported || imported.catalogue.clusters.length === 0) {
    throw new PosternError("config", "Cannot list the clusters: no catalogue is stored", {
      detail: "no_catalogue",
      hint: "fetch the catalogue: postern update",
    });
  }
  const { catalogue } = imported;
  return {
    catalogues: [catalogue],
    notes: [...notes, `no catalogue is stored; using kharon's: "${catalogue.source}"`],
  };
}
