export {
  configPath,
  type ConfigReading,
  type ConfigReport,
  type ConfigSource,
  demandLoaded,
  loadConfig,
  type LoadedConfig,
  readConfig,
  tryConfig,
} from "./config_file.ts";
export { ConfigWatch } from "./config_watch.ts";
export { dialTimeout } from "./dials/try_dial.ts";
export { preparePath } from "./explanation.ts";
export { forgetLearned } from "./clusters/learned_directory.ts";
export { keptKubeconfigs, namedKubeconfigs, usualKubeconfigs, writtenKubeconfigs } from "./kubeconfigs.ts";
export type { Overrides } from "./overrides.ts";
export { isAmong, isWildcard } from "./own_addresses.ts";
export {
  addedTransports,
  allowedBy,
  allowedHostsBy,
  changesBetween,
  configuredRoute,
  hopsOf,
  type Plan,
  transportOf,
} from "./plan.ts";
export { limitsOf, listenOf, type Settings, settingsSchemaFor } from "./settings.ts";
export { configSchema, starterConfig } from "./starter_config.ts";
export { catalogueStore, chosenOf } from "./stored_fleet.ts";
export { type TransportReport, transportReports } from "./transport_reports.ts";
export { Transports } from "./transports.ts";
export { readUsers } from "./users.ts";
