export * from "./explanation.ts";
export * from "./host.ts";
export * from "./pattern.ts";
export * from "./router.ts";
export * from "./rule.ts";
export * from "./route_lines.ts";
export * from "./route_settings.ts";
export * from "./rule_report.ts";
