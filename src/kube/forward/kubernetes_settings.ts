import type { HalfClose } from "./forward_api.ts";

/** The settings for one cluster or several contexts, as plain data. */
export interface KubernetesSettings {
  /** Paths, merged as kubectl does. */
  readonly kubeconfigs: readonly string[];
  /** Default without `contexts`: the kubeconfig's current context. */
  readonly context?: string;
  /** Several contexts: a host names the context between the Service and the suffix. */
  readonly contexts?: "all" | readonly string[];
  /** The namespace of names without one; default: the context's namespace. */
  readonly namespace?: string;
  readonly clusterDomain: string;
  readonly suffix?: string;
  /** Example: `10.244.0.0/16`. */
  readonly podNetworks?: readonly string[];
  readonly halfClose: HalfClose;
  readonly externalName: "refuse" | "dial";
}
