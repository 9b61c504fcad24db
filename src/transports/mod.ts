export type { BuildDeps, BuiltTransport, BuiltTransports } from "./build_transports.ts";
export { ClusterProxy } from "./cluster_proxy.ts";
export { dialerThroughProxy } from "./dialer_through_proxy.ts";
export { Direct } from "./direct.ts";
export { Konnectivity } from "./konnectivity.ts";
export { buildTransports, transportKinds, transportsSchema } from "./transport_kinds.ts";
export { implicitNames, type TransportsSettings } from "./transports_schema.ts";
