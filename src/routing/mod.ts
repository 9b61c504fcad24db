export * from "./explanation.ts";
export * from "./host.ts";
export * from "./pattern.ts";
export * from "./router.ts";
export * from "./rule.ts";
