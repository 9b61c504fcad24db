export * from "./agent.ts";
export * from "./agent_identifiers.ts";
export * from "./agent_port.ts";
export * from "./agents.ts";
export * from "./certificates.ts";
export * from "./connect_front.ts";
export * from "./grpc_front.ts";
export * from "./health_pages.ts";
