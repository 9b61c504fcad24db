import { list, type Mapping, mapping, text } from "./json_values.ts";
import { normalHost } from "../../words/mod.ts";
import type {
  EndpointRecord,
  PodRecord,
  ServicePortRecord,
  ServiceRecord,
  SlicePortRecord,
  SliceRecord,
} from "./cluster_view.ts";

/** What an object is called, and how old it is. */
export interface ObjectMeta {
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
}

/** Undefined for what is no object with a name. */
export function metaOf(object: unknown): ObjectMeta | undefined {
  const metadata = mapping(mapping(object)["metadata"]);
  const name = text(metadata["name"]);
  if (name === undefined) return undefined;
  return {
    namespace: text(metadata["namespace"]) ?? "",
    name,
    resourceVersion: text(metadata["resourceVersion"]) ?? "",
  };
}

/** What is kept of a Service: nothing of the object itself, which is large. */
export function serviceRecord(object: unknown, { namespace, name }: ObjectMeta): ServiceRecord {
  const spec = mapping(mapping(object)["spec"]);
  const clusterIp = text(spec["clusterIP"]);
  const ips = list(spec["clusterIPs"]).map(text);
  const all = ips.length > 0 ? ips : [clusterIp];
  const type = oneOf(spec["type"], ["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"] as const);
  const externalName = text(spec["externalName"]);
  return {
    namespace,
    name,
    type: type ?? "ClusterIP",
    clusterIps: all.flatMap((ip) => ip === undefined || ip === "None" ? [] : [normalHost(ip)]),
    isHeadless: clusterIp === "None",
    hasSelector: Object.keys(mapping(spec["selector"])).length > 0,
    publishesNotReady: spec["publishNotReadyAddresses"] === true,
    ...(externalName !== undefined && { externalName }),
    ports: list(spec["ports"]).map(mapping).flatMap(servicePort),
  };
}

function servicePort(port: Mapping): ServicePortRecord[] {
  const number = port["port"];
  if (typeof number !== "number") return [];
  const target = port["targetPort"];
  return [{
    name: text(port["name"]) ?? "",
    protocol: protocolOf(port),
    port: number,
    targetPort: typeof target === "string" || typeof target === "number" ? target : number,
  }];
}

/** The Service that a slice belongs to, and what is kept of it; undefined for a slice of nobody. */
export function sliceRecord(object: unknown): { service: string; slice: SliceRecord } | undefined {
  const slice = mapping(object);
  const service = text(mapping(mapping(slice["metadata"])["labels"])["kubernetes.io/service-name"]);
  if (service === undefined) return undefined;
  return {
    service,
    slice: {
      addressType: oneOf(slice["addressType"], ["IPv4", "IPv6", "FQDN"] as const) ?? "IPv4",
      ports: list(slice["ports"]).map(mapping).map(slicePort),
      endpoints: list(slice["endpoints"]).map(mapping).map(endpointRecord),
    },
  };
}

function slicePort(port: Mapping): SlicePortRecord {
  const number = port["port"];
  return {
    name: text(port["name"]) ?? "",
    protocol: protocolOf(port),
    ...(typeof number === "number" && { port: number }),
  };
}

function endpointRecord(endpoint: Mapping): EndpointRecord {
  const conditions = mapping(endpoint["conditions"]);
  const target = mapping(endpoint["targetRef"]);
  const pod = target["kind"] === "Pod" ? text(target["name"]) : undefined;
  const hostname = text(endpoint["hostname"]);
  const isReady = conditions["ready"] !== false;
  return {
    addresses: list(endpoint["addresses"]).flatMap((address) => text(address) ?? []),
    isReady,
    // What a server of old does not tell is as ready is (`EndpointConditions`).
    isServing: typeof conditions["serving"] === "boolean" ? conditions["serving"] : isReady,
    isTerminating: conditions["terminating"] === true,
    ...(pod !== undefined && { pod }),
    ...(hostname !== undefined && { hostname }),
  };
}

export function podRecord(object: unknown): PodRecord | undefined {
  const meta = metaOf(object);
  if (!meta) return undefined;
  const pod = mapping(object);
  const [spec, status] = [mapping(pod["spec"]), mapping(pod["status"])];
  const ips = list(status["podIPs"]).flatMap((entry) => text(mapping(entry)["ip"]) ?? []);
  const first = text(status["podIP"]);
  const ready = list(status["conditions"]).map(mapping).find(({ type }) => type === "Ready");
  const containers = [
    ...list(spec["containers"]),
    // A container that starts first and stays is as good as the others.
    ...list(spec["initContainers"]).filter((container) => mapping(container)["restartPolicy"] === "Always"),
  ];
  return {
    namespace: meta.namespace,
    name: meta.name,
    phase: text(status["phase"]) ?? "Unknown",
    isReady: ready?.["status"] === "True",
    isTerminating: mapping(pod["metadata"])["deletionTimestamp"] !== undefined,
    isHostNetwork: spec["hostNetwork"] === true,
    ips: (ips.length > 0 ? ips : first === undefined ? [] : [first]).map(normalHost),
    ports: containers.flatMap((container) => list(mapping(container)["ports"])).map(mapping).flatMap((port) =>
      typeof port["containerPort"] !== "number"
        ? []
        : [{ name: text(port["name"]) ?? "", protocol: protocolOf(port), port: port["containerPort"] }]
    ),
  };
}

function protocolOf(port: Mapping): "TCP" | "UDP" | "SCTP" {
  return oneOf(port["protocol"], ["TCP", "UDP", "SCTP"] as const) ?? "TCP";
}

function oneOf<T extends string>(value: unknown, known: readonly T[]): T | undefined {
  return known.find((one) => one === value);
}
