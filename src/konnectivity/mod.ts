export { cloudDomains } from "./client/cloud_hosts.ts";
export { KonnectivityClient } from "./client/konnectivity_client.ts";
export type {
  KonnectivityMode,
  KonnectivitySettings,
  NamesSettings,
} from "./client/konnectivity_settings.ts";
export { loadKonnectivity } from "./load_konnectivity.ts";
export type { PacketCount } from "./packet_stream.ts";
export type { Agents, AgentStrategy } from "./server/agents.ts";
export type { Authority } from "./server/certificates.ts";
