export { type CatalogueChanges, catalogueChanges } from "./catalogue_changes.ts";
export { type CatalogueRoute, routesOf } from "./catalogue_routes.ts";
export {
  catalogueOfEnvironment,
  type CatalogueSettings,
  cataloguesSchema,
  usualExec,
} from "./catalogue_settings.ts";
export { CatalogueStore } from "./catalogue_store.ts";
export { readKharonCache, readKharonMapping } from "./kharon_cache.ts";
export { discoverLieutenant, fetchCatalogue } from "./lieutenant.ts";
export { readDomain } from "./read_domain.ts";
export { storedCatalogues } from "./stored_catalogues.ts";
