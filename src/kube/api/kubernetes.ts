/** The Kubernetes client, loaded by `loadKubernetes()` when a cluster is used. */
export { inClusterContext } from "./in_cluster.ts";
export { KubeClient } from "./kube_client.ts";
export { readKubeConfig } from "./kube_config.ts";
export { contextOf } from "./kube_context.ts";
export { KubeObjects } from "./kube_objects.ts";
export { KubeView } from "./kube_view.ts";
export { KubeWatch } from "./kube_watch.ts";
export { LeaderElection } from "./leader_election.ts";
export { LeaseWatch } from "./lease_watch.ts";
export { Leases } from "./leases.ts";
export { reviewToken } from "./token_review.ts";
