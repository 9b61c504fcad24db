import type { KubeCluster } from "./kube_cluster.ts";

/** How many requests are under way at once. */
const atOnce = 16;

/**
 * Fills a cluster with Services over some namespaces (`crowd-0` and on), each with two ports and a slice of two ready
 * endpoints. The slices are written here: the controller would take minutes for so many.
 */
export async function makeCrowd(
  cluster: KubeCluster,
  { services, namespaces }: { readonly services: number; readonly namespaces: number },
): Promise<void> {
  for (let index = 0; index < namespaces; index++) {
    await cluster.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: `crowd-${index}` } });
  }
  let next = 0;
  await Promise.all(Array.from({ length: atOnce }, async () => {
    while (next < services) {
      const index = next++;
      await makeOne(cluster, `crowd-${index % namespaces}`, index);
    }
  }));
}

async function makeOne(cluster: KubeCluster, namespace: string, index: number): Promise<void> {
  const name = `service-${index}`;
  await cluster.json("POST", `/api/v1/namespaces/${namespace}/services`, {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, labels: { app: name } },
    spec: {
      ports: [{ name: "http", port: 80, targetPort: 8080 }, {
        name: "metrics",
        port: 9090,
        targetPort: 9090,
      }],
    },
  });
  await cluster.json("POST", `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`, {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: `${name}-slice`, labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    ports: [{ name: "http", port: 8080 }, { name: "metrics", port: 9090 }],
    endpoints: [0, 1].map((which) => ({
      addresses: [`10.${index >> 8}.${index & 255}.${which + 1}`],
      conditions: { ready: true },
      targetRef: { kind: "Pod", name: `${name}-6d5b4c7f98-abcd${which}`, namespace },
    })),
  });
}
