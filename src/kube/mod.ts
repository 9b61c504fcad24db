export type { KubeApi, KubeRequest } from "./api/kube_api.ts";
export type {
  KubeObject,
  KubeObjects,
  ObjectKind,
  ObjectPatch,
  ObjectPlace,
  Written,
} from "./api/kube_objects.ts";
export type { ObjectMeta } from "./api/kube_records.ts";
export type { KubeWatch } from "./api/kube_watch.ts";
export type { Leadership, LeaseTimes } from "./api/leader_election.ts";
export type { Lease, Leases } from "./api/leases.ts";
export { loadKubernetes } from "./api/load_kubernetes.ts";
export { ownersOf } from "./api/managed_fields.ts";
export type { WatchSink } from "./api/watch_state.ts";
export { type AuthInfo, readAuthInfo } from "./config/auth_info.ts";
export { makeCurrent } from "./config/current_context.ts";
export { learnAuthority, trustedAuthority } from "./config/first_use_trust.ts";
export {
  authorityInFacts,
  type Kubeconfig,
  type KubeconfigCluster,
  kubeconfigOf,
  type MadeKubeconfig,
  type SignInRules,
} from "./config/kubeconfig.ts";
export { mergeKubeconfigFile, writeKubeconfigFile, writtenKubeconfig } from "./config/kubeconfig_file.ts";
export { KubeClusters } from "./forward/kube_clusters.ts";
export type { KubernetesSettings } from "./forward/kubernetes_settings.ts";
export { isTopLevelDomain } from "./forward/top_level_domain.ts";
export { acceptFor } from "./forward/web_socket_upgrade.ts";
