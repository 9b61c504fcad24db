import type { Conn } from "../../core/mod.ts";
import type { Fields } from "../../wire/mod.ts";

/** What port-forwards need of an API server: requests that leave HTTP for another protocol. */
export interface KubeUpgrades {
  /** How messages name it. */
  readonly name: string;
  upgrade(request: UpgradeRequest, options: { readonly signal: AbortSignal }): Promise<Upgrade>;
}

export interface UpgradeRequest {
  readonly method?: string;
  readonly path: string;
  /** With `Connection` and `Upgrade`, besides what signs in. */
  readonly fields?: Iterable<readonly [name: string, value: string]>;
}

export type Upgrade =
  /** The connection speaks the other protocol; what came early is read first. */
  | { readonly status: 101; readonly fields: Fields; readonly conn: Conn }
  | { readonly status: number; readonly fields: Fields; readonly conn?: undefined; readonly text: string };

/** Where a forward ends. */
export interface PodPort {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
}

/** What becomes of a client's half-close. */
export type HalfClose =
  /** The pod sees it. */
  | "pass"
  /** It is kept until the pod has ended: some container runtimes cut the answer a second after it. */
  | "hold";

/** `namespace/pod`, as messages name a pod. */
export function podName({ namespace, pod }: Pick<PodPort, "namespace" | "pod">): string {
  return `${namespace}/${pod}`;
}
