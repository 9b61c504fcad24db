import type { Clock, Log } from "../../core/mod.ts";
import type { Dialer, Files, Network, Process } from "../../world/mod.ts";
import type { Target } from "../../words/mod.ts";

/** What clusters are reached and read with; a transport's own deps have it all. */
export interface ClusterDeps {
  /** The name that the configuration gives the transport. */
  readonly name: string;
  readonly network: Network;
  /** How API servers are reached: straight, or through the transport that `via` names. */
  readonly dialer: Dialer;
  readonly via?: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly files: Files;
  /** For credential plugins. */
  readonly process: Pick<Process, "run">;
  /** Whether an address is one of the instance's own. */
  readonly isOwnListener?: ((target: Target) => boolean) | undefined;
  /** The directory of what is learned of clusters; nothing is stored where it is absent. */
  readonly learned?: string | undefined;
}
