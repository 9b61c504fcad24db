export type { BuildDeps, BuiltTransport, BuiltTransports } from "./build_transports.ts";
export { Direct } from "./direct.ts";
export { Konnectivity } from "./konnectivity.ts";
export { ClusterProxy } from "./proxy.ts";
export { buildTransports, transportKinds, transportsSchema } from "./transport_kinds.ts";
export { implicitNames, type TransportsSettings } from "./transports_schema.ts";
