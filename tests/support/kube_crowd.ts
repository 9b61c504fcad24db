import type { KubeCluster } from "./kube_cluster.ts";

/** The number of concurrent requests. */
const atOnce = 16;

export interface CrowdOptions {
  readonly services: number;
  /** The number of namespaces for the Services. */
  readonly namespaces: number;
  /** The number of pods without a node (default: none). */
  readonly pods?: number;
}

/**
 * Fills a cluster with Services in several namespaces (`crowd-0` and so on), each with two ports and a slice
 * of two ready endpoints. It writes the slices itself, because the controller would take minutes.
 */
export async function makeCrowd(
  cluster: KubeCluster,
  { services, namespaces, pods = 0 }: CrowdOptions,
): Promise<void> {
  for (let index = 0; index < namespaces; index++) {
    const name = crowdNamespace(index);
    // Pods need a service account.
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

/** Returns a pod without a node, whose status never changes. */
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
