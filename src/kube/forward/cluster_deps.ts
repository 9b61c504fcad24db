import type { Clock, Log } from "../../core/mod.ts";
import type { Dialer, Files, Network, Process } from "../../world/mod.ts";
import type { Target } from "../../words/mod.ts";

/** The dependencies of a cluster; a transport's own deps contain all of them. */
export interface ClusterDeps {
  /** The transport's name in the configuration. */
  readonly name: string;
  readonly network: Network;
  /** Connects to API servers, directly or through the transport in `via`. */
  readonly dialer: Dialer;
  readonly via?: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly files: Files;
  /** Starts credential plugins. */
  readonly process: Pick<Process, "run">;
  /** Whether an address is a listener of this instance. */
  readonly isOwnListener?: ((target: Target) => boolean) | undefined;
  /** The directory for learned facts of clusters; if absent, nothing is stored. */
  readonly learned?: string | undefined;
}
