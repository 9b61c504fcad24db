/** Loads the Kubernetes client on first use: most instances and commands never use a cluster. */
export function loadKubernetes(): Promise<typeof import("./kubernetes.ts")> {
  return import("./kubernetes.ts");
}
