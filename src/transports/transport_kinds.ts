import type { Schema } from "../config/mod.ts";
import { type BuildDeps, buildTransportsOf, type BuiltTransports } from "./build_transports.ts";
import type { TransportKind } from "./define_transport.ts";
import kubernetes from "./kubernetes.ts";
import konnectivity from "./konnectivity.ts";
import proxy from "./proxy.ts";
import reject from "./reject.ts";
import ssh from "./ssh.ts";
import { transportsSchemaOf, type TransportsSettings } from "./transports_schema.ts";

/** Every kind of transport for the configuration. `direct` is built in. */
export const transportKinds: readonly TransportKind[] = [konnectivity, kubernetes, proxy, reject, ssh];

export function transportsSchema(): Schema<TransportsSettings> {
  return transportsSchemaOf(transportKinds);
}

/** Builds all transports of a configuration, and reuses unchanged ones of `previous`. */
export function buildTransports(
  settings: TransportsSettings,
  deps: BuildDeps,
  previous?: BuiltTransports,
): BuiltTransports {
  return buildTransportsOf(transportKinds, settings, { deps, previous });
}
