import type { KubeCluster } from "./kube_cluster.ts";

/** How many requests are under way at once. */
const atOnce = 16;

export interface CrowdOptions {
  readonly services: number;
  /** Over which they are spread evenly. */
  readonly namespaces: number;
  /** Pods that no node runs; none unless told. */
  readonly pods?: number;
}

/**
 * Fills a cluster with Services over some namespaces (`crowd-0` and on), each with two ports and a slice of two ready
 * endpoints. The slices are written here: the controller would take minutes for so many.
 */
export async function makeCrowd(
  cluster: KubeCluster,
  { services, namespaces, pods = 0 }: CrowdOptions,
): Promise<void> {
  for (let index = 0; index < namespaces; index++) {
    const name = crowdNamespace(index);
    // Where pods are made there must be who they run as.
    if (pods > 0) await cluster.namespace(name);
    else await cluster.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
  const space = (index: number) => crowdNamespace(index % namespaces);
  await manyAtOnce(services, (index) => makeOne(cluster, space(index), index));
  await manyAtOnce(pods, async (index) => {
    await cluster.json("POST", `/api/v1/namespaces/${space(index)}/pods`, crowdPod(index));
  });
}

export const crowdNamespace = (index: number): string => `crowd-${index}`;

async function manyAtOnce(count: number, make: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  await Promise.all(Array.from({ length: atOnce }, async () => {
    while (next < count) await make(next++);
  }));
}

/** Without a node it stays as it is made. */
function crowdPod(index: number): unknown {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: `pod-${index}`, labels: { app: `service-${index >> 1}` } },
    spec: { automountServiceAccountToken: false, containers: [{ name: "main", image: "none" }] },
  };
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
