export {
  configPath,
  type ConfigReport,
  type ConfigSource,
  demandLoaded,
  loadConfig,
  type LoadedConfig,
  readConfig,
} from "./config_file.ts";
export { ConfigWatch, type WatchedContents } from "./config_watch.ts";
export { explanationOf, preparePath } from "./explanation.ts";
export { keptKubeconfigs, namedKubeconfigs, usualKubeconfigs, writtenKubeconfigs } from "./kubeconfigs.ts";
export { noProxy } from "./no_proxy.ts";
export type { Overrides } from "./overrides.ts";
export { isAmong, isWildcard, listenAddresses } from "./own_addresses.ts";
export {
  allowedBy,
  changesBetween,
  configuredRoute,
  hopsOf,
  makePlan,
  type Plan,
  transportOf,
} from "./plan.ts";
export { routedDialer } from "./routed_dialer.ts";
export { limitsOf, listenOf, type Settings, settingsSchemaFor } from "./settings.ts";
export { configSchema, starterConfig } from "./starter_config.ts";
export { catalogueStore, chosenOf } from "./stored_fleet.ts";
export { type TransportReport, transportReports } from "./transport_reports.ts";
export { readUsers } from "./users.ts";
