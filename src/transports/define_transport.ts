import type { Path, Schema } from "../config/mod.ts";
import type { Clock, Log, Transport } from "../core/mod.ts";
import type { Dialer, Files, Network, Process } from "../world/mod.ts";
import type { Target } from "../words/mod.ts";
import type { SshServices } from "../ssh/mod.ts";

export interface TransportDeps {
  /** Its name in the configuration. */
  readonly name: string;
  readonly network: Network;
  /** Makes the transport's own connections: directly, or through its `via`. */
  readonly dialer: Dialer;
  /** The transport of its `via`; absent for direct connections. */
  readonly via?: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly files: Files;
  /** Runs the sign-in programs of a kubeconfig. */
  readonly process: Pick<Process, "run">;
  /** Shared by all ssh transports. */
  readonly ssh: SshServices;
  /** Whether an address is a listener of this instance; absent outside an instance. */
  readonly isOwnListener?: (target: Target) => boolean;
  /** Returns another transport of the configuration by name, for references in the settings. */
  readonly sibling?: (name: string) => Transport | undefined;
  /** The directory for learned cluster facts; without it, nothing is stored. */
  readonly learned?: string;
}

/**
 * A reference in a transport's settings to another one, which provides information but is not on the path.
 */
export interface TransportReference {
  readonly name: string;
  /** The place of the reference in the settings. */
  readonly path: Path;
  /** Returns the problem of a reference to a transport with these settings, if there is one. */
  problem(named: { readonly kind: string; readonly settings: unknown }): string | undefined;
}

/** A kind of transport: its key in the configuration, the schema of its settings, and how to create it. */
export interface TransportKind<T = unknown> {
  readonly type: string;
  /** Produces plain data: a reload compares settings to find unchanged transports. */
  readonly settings: Schema<T>;
  references?(settings: T): readonly TransportReference[];
  /** Creates a transport without I/O. */
  create(settings: T, deps: TransportDeps): Transport;
}

/** Checks that a kind's `create` matches its schema. */
export function defineTransport<T>(kind: TransportKind<T>): TransportKind<T> {
  return kind;
}
