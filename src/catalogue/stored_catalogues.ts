import { directoryOf, type World } from "../world/mod.ts";
import { PosternError } from "../words/mod.ts";
import { CatalogueStore, type StoredCatalogues } from "./catalogue_store.ts";
import { readKharonCache } from "./kharon_cache.ts";

/**
 * The catalogues that are stored on this machine, whoever can be reached now; where there is none, what kharon has
 * left. `config` where neither is there.
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
    throw new PosternError("config", "Cannot tell which clusters there are: no catalogue is stored", {
      detail: "no_catalogue",
      hint: "fetch it: postern update",
    });
  }
  const { catalogue } = imported;
  return {
    catalogues: [catalogue],
    notes: [...notes, `no catalogue of our own is stored: "${catalogue.source}" is used`],
  };
}
