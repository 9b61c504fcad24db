import type { Path, Schema } from "../config/mod.ts";
import type { Clock, Log, Transport } from "../core/mod.ts";
import type { Dialer, Files, Network, Process } from "../world/mod.ts";
import type { Target } from "../words/mod.ts";
import type { SshServices } from "../ssh/mod.ts";

/** What every transport is made with. */
export interface TransportDeps {
  /** The name that the configuration gives it. */
  readonly name: string;
  readonly network: Network;
  /** For the transport's own connections: straight, or through the transport that its `via` names. */
  readonly dialer: Dialer;
  /** The transport that its `via` names; absent is straight. */
  readonly via?: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly files: Files;
  /** For programs that sign in, as a kubeconfig names them. */
  readonly process: Pick<Process, "run">;
  /** What all ssh transports share. */
  readonly ssh: SshServices;
  /** Whether an address is one of the door that this is for; none is where there is no door. */
  readonly isOwnListener?: (target: Target) => boolean;
  /** Another transport of the same configuration by its name; for those that the settings refer to. */
  readonly sibling?: (name: string) => Transport | undefined;
  /** The directory of what is learned of clusters; nothing is stored where it is absent. */
  readonly learned?: string;
}

/** A transport that the settings of another one name, for what it knows and not as a way. */
export interface TransportReference {
  readonly name: string;
  /** Where in the settings it stands. */
  readonly path: Path;
  /** What is wrong with the one of this name, if anything. */
  problem(named: { readonly kind: string; readonly settings: unknown }): string | undefined;
}

/** A kind of transport: the key it has in the configuration, the schema of what stands there, and how one is made. */
export interface TransportKind<T = unknown> {
  readonly type: string;
  /** Gives plain data: two equal settings are the same transport to a reload. */
  readonly settings: Schema<T>;
  /** The transports that its settings name. */
  references?(settings: T): readonly TransportReference[];
  /** Makes one without any I/O. */
  create(settings: T, deps: TransportDeps): Transport;
}

/** Ties a kind's `create` to its schema by type. */
export function defineTransport<T>(kind: TransportKind<T>): TransportKind<T> {
  return kind;
}
