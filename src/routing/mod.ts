export { catalogueNotes, catalogueRules } from "./catalogue_rules.ts";
export { overlaps, ownedInside } from "./domain_report.ts";
export {
  environmentFor,
  type EnvironmentOptions,
  formerValue,
  type ProgramKind,
  undoEnvironment,
} from "./environment.ts";
export { mayBeOfCluster } from "./first_contact.ts";
export type { Domains, Held } from "./guard.ts";
export { comparableHost } from "./host.ts";
export { isInside } from "./network_tree.ts";
export { namedPorts } from "./named_ports.ts";
export { type Client, noProxyFor } from "./no_proxy.ts";
export { pacFile } from "./pac.ts";
export { formatPattern, parsePattern, type Pattern } from "./pattern.ts";
export { parseRouteLines } from "./route_lines.ts";
export { routeSettings, rulesOfSettings, type WrittenPattern } from "./route_settings.ts";
export { routedInside } from "./routed_inside.ts";
export { type Route, Router } from "./router.ts";
export type { Rule, Tables, Tier } from "./rule.ts";
export { conflicts } from "./rule_report.ts";
export { type RoutedPatterns, routedPatterns } from "./ssh_patterns.ts";
export { type Shell, shellLines } from "./shell_lines.ts";
