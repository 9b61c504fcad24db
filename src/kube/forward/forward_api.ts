import type { Conn } from "../../core/mod.ts";
import type { Fields } from "../../wire/mod.ts";

/** The API server calls of port-forwards: requests that switch from HTTP to another protocol. */
export interface KubeUpgrades {
  /** The API server's name in messages. */
  readonly name: string;
  upgrade(request: UpgradeRequest, options: { readonly signal: AbortSignal }): Promise<Upgrade>;
}

export interface UpgradeRequest {
  readonly method?: string;
  readonly path: string;
  /** Includes `Connection` and `Upgrade`, but not the credentials. */
  readonly fields?: Iterable<readonly [name: string, value: string]>;
}

export type Upgrade =
  /** The connection speaks the new protocol; bytes that arrived early are read first. */
  | { readonly status: 101; readonly fields: Fields; readonly conn: Conn }
  | { readonly status: number; readonly fields: Fields; readonly conn?: undefined; readonly text: string };

/** The pod and port where a forward ends. */
export interface PodPort {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
}

/** How a client's half-close is handled. */
export type HalfClose =
  /** Passed on to the pod. */
  | "pass"
  /** Held back until the pod has ended: some container runtimes cut the response a second later. */
  | "hold";

/** The name of a pod in messages: `namespace/pod`. */
export function podName({ namespace, pod }: Pick<PodPort, "namespace" | "pod">): string {
  return `${namespace}/${pod}`;
}
