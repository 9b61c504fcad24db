export {
  commandGrants,
  commandOf,
  configNamed,
  flagsFor,
  isConfinable,
  isDependedOn,
  kindsFor,
  mayNeed,
  needsTable,
  plugin,
  sourceFacts,
  startsInstances,
  wantsTraces,
  workerPermissions,
  writesKubeconfigs,
} from "./permissions.ts";
export { runtimeFlags } from "./runtime_flags.ts";
