import type { Schema } from "../config/mod.ts";
import { type BuildDeps, buildTransportsOf, type Transports } from "./build_transports.ts";
import type { TransportKind } from "./define_transport.ts";
import kubernetes from "./kubernetes.ts";
import konnectivity from "./konnectivity.ts";
import proxy from "./proxy.ts";
import reject from "./reject.ts";
import ssh from "./ssh.ts";
import { transportsSchemaOf, type TransportsSettings } from "./transports_schema.ts";

export { type BuildDeps, type BuiltTransport, type Transports } from "./build_transports.ts";
export { defineTransport, type TransportDeps, type TransportKind } from "./define_transport.ts";
export { ClusterProxy } from "./cluster_proxy.ts";
export { Direct } from "./direct.ts";
export { Konnectivity } from "./konnectivity.ts";
export { cloudDomains } from "../konnectivity/mod.ts";
export { type KonnectivityMode, type KonnectivitySettings } from "../konnectivity/mod.ts";
export { dialerThroughProxy } from "./dialer_through_proxy.ts";
export { acceptFor as webSocketAccept } from "../kube/mod.ts";
export { resolveChain } from "../ssh/mod.ts";
export { type SshHost } from "../ssh/mod.ts";
export { sshOfPerson, type SshPerson } from "../ssh/mod.ts";
export { type SshSection, sshSection } from "../ssh/mod.ts";
export { SshServices, type SshServicesOptions } from "../ssh/mod.ts";
export { inspectSsh, type SshFinding, type SshSurroundings } from "../ssh/mod.ts";
export { sameSettings } from "../config/mod.ts";
export {
  implicitNames,
  type TransportSettings,
  type TransportsSettings,
  viaProblems,
} from "./transports_schema.ts";

/** Every kind of transport that the configuration may name. `direct` needs no configuration and is always there. */
export const transportKinds: readonly TransportKind[] = [konnectivity, kubernetes, proxy, reject, ssh];

/** The schema of the section `transports`. */
export function transportsSchema(): Schema<TransportsSettings> {
  return transportsSchemaOf(transportKinds);
}

/** Builds all transports of a configuration, taking over what did not change from the previous ones. */
export function buildTransports(
  settings: TransportsSettings,
  deps: BuildDeps,
  previous?: Transports,
): Transports {
  return buildTransportsOf(transportKinds, settings, { deps, previous });
}
