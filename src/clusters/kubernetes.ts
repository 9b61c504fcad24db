/** What speaks to Kubernetes, loaded when a cluster is used: `loadKubernetes()`. */
export * from "./kube_client.ts";
export * from "./kube_config.ts";
export * from "./kube_context.ts";
export * from "./kube_view.ts";
