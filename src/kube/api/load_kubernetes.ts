/** Loads what speaks to Kubernetes: most doors, and most commands, never use a cluster. */
export function loadKubernetes(): Promise<typeof import("./kubernetes.ts")> {
  return import("./kubernetes.ts");
}
