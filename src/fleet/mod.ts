export { CatalogueAccess, catalogueSources, type SignInMethod } from "./catalogue/catalogue_access.ts";
export { CatalogueRefresh } from "./catalogue/catalogue_refresh.ts";
export { type Fleet, readFleet } from "./catalogue/fleet.ts";
export {
  importKharon,
  updateCatalogues,
  type UpdatedCatalogue,
  type UpdateReport,
} from "./catalogue/update_catalogues.ts";
export { testFleet } from "./fleet_tests/test_fleet.ts";
export { countsOf, type FleetTest, type TestCounts } from "./fleet_tests/tested_fleet.ts";
