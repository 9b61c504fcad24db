import type { HalfClose } from "./forward_api.ts";

/** The settings of a cluster, or of several contexts, as plain data. */
export interface KubernetesSettings {
  /** Merged as kubectl does. */
  readonly kubeconfigs: readonly string[];
  /** The kubeconfig's current one where neither this nor `contexts` is given. */
  readonly context?: string;
  /** Several: a host names its context behind the Service, in front of the suffix. */
  readonly contexts?: "all" | readonly string[];
  /** For names without one; the context's unless told. */
  readonly namespace?: string;
  readonly clusterDomain: string;
  readonly suffix?: string;
  /** As `10.244.0.0/16`. */
  readonly podNetworks?: readonly string[];
  readonly halfClose: HalfClose;
  readonly externalName: "refuse" | "dial";
}
