import { isPosternError, PosternError } from "../../words/mod.ts";
import type { ClusterView, PodRecord, ServiceRecord } from "../api/cluster_view.ts";
import type { ClusterName } from "./service_names.ts";
import { type PodPlace, podPlacesOf } from "./service_ports.ts";

/** Where a target of a cluster is. */
export type ClusterPlaces =
  /** Any of these will do. */
  | { readonly places: readonly PodPlace[]; readonly service?: ServiceRecord }
  /** Another name: whoever asked decides whether to go there. */
  | { readonly externalName: string; readonly service: ServiceRecord };

export interface FindPlacesOptions {
  readonly view: ClusterView;
  /** How messages name the cluster. */
  readonly cluster: string;
  /** The one that names without any are in, asked first for what only the whole cluster could tell. */
  readonly namespace: string;
  readonly signal: AbortSignal;
}

/** Finds the pods and ports that a name and a port mean, by what is held of the cluster. */
export async function findPlaces(
  name: ClusterName,
  port: number,
  options: FindPlacesOptions,
): Promise<ClusterPlaces> {
  switch (name.kind) {
    case "service":
    case "endpoint":
      return await inNamespace(name, port, options);
    case "pod":
      return { places: [await podAt(name.ip, port, { ...options, within: name.namespace })] };
    case "address":
      return await atAddress(name.ip, port, options);
  }
}

async function inNamespace(
  name: Extract<ClusterName, { kind: "service" | "endpoint" }>,
  port: number,
  { view, cluster, signal }: FindPlacesOptions,
): Promise<ClusterPlaces> {
  const { namespace } = name;
  await view.ready(namespace, { signal });
  const service = view.service(namespace, name.service);
  if (!service) {
    throw new PosternError(
      "name_not_found",
      `Cannot find the Service "${namespace}/${name.service}" in ${cluster}`,
      {
        hint: `list what is there: kubectl get services -n ${namespace}`,
      },
    );
  }
  if (service.type === "ExternalName") return externalOf(service, cluster);
  const endpoint = name.kind === "endpoint" ? name.endpoint : undefined;
  const asked = name.kind === "service" && name.port !== undefined ? { name: name.port } : port;
  return { service, places: podPlacesOf(service, { port: asked, endpoint }, { view, cluster }) };
}

function externalOf(service: ServiceRecord, cluster: string): ClusterPlaces {
  const { namespace, name, externalName } = service;
  if (externalName) return { externalName, service };
  throw new PosternError(
    "unreachable",
    `Cannot reach the Service ${namespace}/${name} of ${cluster}: no ExternalName`,
  );
}

async function atAddress(ip: string, port: number, options: FindPlacesOptions): Promise<ClusterPlaces> {
  const { view, cluster, namespace, signal } = options;
  const held = view.byClusterIp(ip);
  if (held) return { service: held, places: podPlacesOf(held, { port }, { view, cluster }) };
  const refusal = await holdAll(view, namespace, signal);
  const service = view.byClusterIp(ip);
  if (service) return { service, places: podPlacesOf(service, { port }, { view, cluster }) };
  try {
    return { places: [await podAt(ip, port, options)] };
  } catch (error) {
    // Perhaps it is a Service of a namespace that may not be looked into: that right is what is missing.
    if (refusal && (isPosternError(error, "name_not_found") || isPosternError(error, "not_allowed"))) {
      throw refusal;
    }
    throw error;
  }
}

/** Holds the whole cluster, or as much as is allowed; what is not is given back. */
async function holdAll(
  view: ClusterView,
  namespace: string,
  signal: AbortSignal,
): Promise<PosternError | undefined> {
  try {
    await view.ready(undefined, { signal });
    return undefined;
  } catch (error) {
    if (!isPosternError(error, "not_allowed")) throw error;
    await view.ready(namespace, { signal }).catch((inner) => {
      if (!isPosternError(inner, "not_allowed")) throw inner;
    });
    return error;
  }
}

/** The pod with an address. Pods on their node's network share one: then it is the one that declares the port. */
async function podAt(
  ip: string,
  port: number,
  { view, cluster, namespace, signal, within }: FindPlacesOptions & { readonly within?: string },
): Promise<PodPlace> {
  const all = await view.podByIp(ip, { signal, namespaces: [within ?? namespace] });
  const pods = all.filter((pod) => (within === undefined || pod.namespace === within) && isAlive(pod));
  const declaring = pods.filter(({ ports }) =>
    ports.some((declared) => declared.port === port && declared.protocol === "TCP")
  );
  const [pod, ...more] = pods.length > 1 && declaring.length > 0 ? declaring : pods;
  if (!pod) {
    const where = within === undefined ? cluster : `the namespace "${within}" of ${cluster}`;
    throw new PosternError(
      "name_not_found",
      `Cannot find ${ip}: no Service and no pod of ${where} has this address`,
    );
  }
  if (more.length > 0) {
    const names = [pod, ...more].map(({ namespace, name }) => `${namespace}/${name}`).join(", ");
    const which = declaring.length > 0 ? `declare port ${port}` : `have it, and none declares port ${port}`;
    throw new PosternError("refused", `Cannot tell which pod ${ip} is in ${cluster}: ${names} ${which}`, {
      hint: "use the name of a Service or of the pod",
    });
  }
  return { namespace: pod.namespace, pod: pod.name, port };
}

function isAlive({ phase, isTerminating }: PodRecord): boolean {
  return phase === "Running" && !isTerminating;
}
