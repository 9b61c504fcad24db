export { commandGrants, plugin, startsInstances, writesKubeconfigs } from "./command_grants.ts";
export { commandOf, configNamed, isDependedOn, wantsTraces } from "./command_line.ts";
export { flagsFor, workerPermissions } from "./flags.ts";
export { isConfinable, kindsFor, mayNeed, needsTable } from "./needs.ts";
export { runtimeFlags } from "./runtime_flags.ts";
export { sourceFacts } from "./source_facts.ts";
