export { cloudDomains } from "./client/cloud_hosts.ts";
export { dialByConnect } from "./client/connect_frontend.ts";
export { GrpcFrontend } from "./client/grpc_frontend.ts";
export type {
  KonnectivityMode,
  KonnectivitySettings,
  NamesSettings,
} from "./client/konnectivity_settings.ts";
export { FrontendReach } from "./client/reach_frontend.ts";
export { TargetNames, type TargetPath } from "./client/target_names.ts";
export { loadKonnectivity } from "./load_konnectivity.ts";
export type { PacketCount } from "./packet_stream.ts";
export type { Agents, AgentStrategy } from "./server/agents.ts";
export type { Authority } from "./server/certificates.ts";
