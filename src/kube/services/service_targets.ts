import { isPosternError, PosternError } from "../../words/mod.ts";
import type { ClusterView, PodRecord, ServiceRecord } from "../api/cluster_view.ts";
import type { ClusterName } from "./service_names.ts";
import { type PodPlace, podPlacesOf } from "./service_ports.ts";

/** The places of a target in a cluster. */
export type ClusterPlaces =
  /** Equivalent places. */
  | { readonly places: readonly PodPlace[]; readonly service?: ServiceRecord }
  /** An external name; the caller decides whether to connect to it. */
  | { readonly externalName: string; readonly service: ServiceRecord };

export interface FindPlacesOptions {
  readonly view: ClusterView;
  /** The cluster's name in messages. */
  readonly cluster: string;
  /** The namespace of names without one; used alone if the user may not read the whole cluster. */
  readonly namespace: string;
  readonly signal: AbortSignal;
}

/** Finds the pods and ports for a name and a port, from the objects in memory. */
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
        hint: `list the Services: kubectl get services -n ${namespace}`,
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
    `Cannot reach the Service ${namespace}/${name} of ${cluster}: its externalName is empty`,
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
    // The address may belong to a Service in a forbidden namespace, so report the missing right.
    if (refusal && (isPosternError(error, "name_not_found") || isPosternError(error, "not_allowed"))) {
      throw refusal;
    }
    throw error;
  }
}

/** Watches the whole cluster, or the parts that are allowed; returns the refusal, if any. */
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

/**
 * The pod with an address. Pods on the host network share their node's address; then the declared port
 * decides.
 */
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
    const which = declaring.length > 0
      ? `declare port ${port}`
      : `have this address, and none declares port ${port}`;
    throw new PosternError("refused", `Cannot choose a pod for ${ip} in ${cluster}: ${names} ${which}`, {
      hint: "use the name of the Service or of the pod",
    });
  }
  return { namespace: pod.namespace, pod: pod.name, port };
}

function isAlive({ phase, isTerminating }: PodRecord): boolean {
  return phase === "Running" && !isTerminating;
}
