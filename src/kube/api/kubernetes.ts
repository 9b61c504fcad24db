/** What speaks to Kubernetes, loaded when a cluster is used: `loadKubernetes()`. */
export * from "./in_cluster.ts";
export * from "./kube_client.ts";
export * from "./kube_config.ts";
export * from "./kube_context.ts";
export * from "./kube_objects.ts";
export * from "./kube_view.ts";
export * from "./kube_watch.ts";
export * from "./leader_election.ts";
export * from "./lease_watch.ts";
export * from "./leases.ts";
export * from "./token_review.ts";
