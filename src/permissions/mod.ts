export { commandGrants, isDependedOn, startedLater } from "./command_grants.ts";
export {
  clusterForm,
  type CommandLine,
  isNc,
  parsedWords,
  readCommandLine,
  splitAtDashes,
  valueOf,
  wantsTraces,
  withEmptyValues,
} from "./command_line.ts";
export { flagsFor, workerPermissions } from "./flags.ts";
export { isConfinable, kindsFor, mayNeed, needsTable } from "./needs.ts";
export { clusterVerbs, logOptions, optionNames, switches } from "./option_table.ts";
export { runtimeFlags } from "./runtime_flags.ts";
export { sourceFacts } from "./source_facts.ts";
