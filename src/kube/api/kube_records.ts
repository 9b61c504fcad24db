import { asList, asMapping, asText, type Mapping } from "../../config/mod.ts";
import { normalHost } from "../../words/mod.ts";
import type {
  EndpointRecord,
  PodRecord,
  ServicePortRecord,
  ServiceRecord,
  SlicePortRecord,
  SliceRecord,
} from "./cluster_view.ts";

export interface ObjectMeta {
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
}

/** Undefined for a value that is not a named object. */
export function metaOf(object: unknown): ObjectMeta | undefined {
  const metadata = asMapping(asMapping(object)["metadata"]);
  const name = asText(metadata["name"]);
  if (name === undefined) return undefined;
  return {
    namespace: asText(metadata["namespace"]) ?? "",
    name,
    resourceVersion: asText(metadata["resourceVersion"]) ?? "",
  };
}

/** Extracts the needed fields of a Service; the object itself is large and not kept. */
export function serviceRecord(object: unknown, { namespace, name }: ObjectMeta): ServiceRecord {
  const spec = asMapping(asMapping(object)["spec"]);
  const clusterIp = asText(spec["clusterIP"]);
  const ips = asList(spec["clusterIPs"]).map(asText);
  const all = ips.length > 0 ? ips : [clusterIp];
  const type = oneOf(spec["type"], ["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"] as const);
  const externalName = asText(spec["externalName"]);
  return {
    namespace,
    name,
    type: type ?? "ClusterIP",
    clusterIps: all.flatMap((ip) => ip === undefined || ip === "None" ? [] : [normalHost(ip)]),
    isHeadless: clusterIp === "None",
    hasSelector: Object.keys(asMapping(spec["selector"])).length > 0,
    publishesNotReady: spec["publishNotReadyAddresses"] === true,
    externalName,
    ports: asList(spec["ports"]).map(asMapping).flatMap(servicePort),
  };
}

function servicePort(port: Mapping): ServicePortRecord[] {
  const number = port["port"];
  if (typeof number !== "number") return [];
  const target = port["targetPort"];
  return [{
    name: asText(port["name"]) ?? "",
    protocol: protocolOf(port),
    port: number,
    targetPort: typeof target === "string" || typeof target === "number" ? target : number,
  }];
}

/** A slice with the Service that it belongs to; undefined if it belongs to none. */
export function sliceRecord(object: unknown): { service: string; slice: SliceRecord } | undefined {
  const slice = asMapping(object);
  const service = asText(asMapping(asMapping(slice["metadata"])["labels"])["kubernetes.io/service-name"]);
  if (service === undefined) return undefined;
  return {
    service,
    slice: {
      addressType: oneOf(slice["addressType"], ["IPv4", "IPv6", "FQDN"] as const) ?? "IPv4",
      ports: asList(slice["ports"]).map(asMapping).map(slicePort),
      endpoints: asList(slice["endpoints"]).map(asMapping).map(endpointRecord),
    },
  };
}

function slicePort(port: Mapping): SlicePortRecord {
  const number = port["port"];
  return {
    name: asText(port["name"]) ?? "",
    protocol: protocolOf(port),
    ...(typeof number === "number" && { port: number }),
  };
}

function endpointRecord(endpoint: Mapping): EndpointRecord {
  const conditions = asMapping(endpoint["conditions"]);
  const target = asMapping(endpoint["targetRef"]);
  const pod = target["kind"] === "Pod" ? asText(target["name"]) : undefined;
  const hostname = asText(endpoint["hostname"]);
  const isReady = conditions["ready"] !== false;
  return {
    addresses: asList(endpoint["addresses"]).flatMap((address) => asText(address) ?? []),
    isReady,
    // Older servers do not set `serving`; it then equals `ready` (`EndpointConditions`).
    isServing: typeof conditions["serving"] === "boolean" ? conditions["serving"] : isReady,
    isTerminating: conditions["terminating"] === true,
    pod,
    hostname,
  };
}

export function podRecord(object: unknown): PodRecord | undefined {
  const meta = metaOf(object);
  if (!meta) return undefined;
  const pod = asMapping(object);
  const [spec, status] = [asMapping(pod["spec"]), asMapping(pod["status"])];
  const ips = asList(status["podIPs"]).flatMap((entry) => asText(asMapping(entry)["ip"]) ?? []);
  const first = asText(status["podIP"]);
  const ready = asList(status["conditions"]).map(asMapping).find(({ type }) => type === "Ready");
  const containers = [
    ...asList(spec["containers"]),
    // A sidecar (an init container that keeps running) serves ports like any container.
    ...asList(spec["initContainers"]).filter((container) =>
      asMapping(container)["restartPolicy"] === "Always"
    ),
  ];
  return {
    namespace: meta.namespace,
    name: meta.name,
    phase: asText(status["phase"]) ?? "Unknown",
    isReady: ready?.["status"] === "True",
    isTerminating: asMapping(pod["metadata"])["deletionTimestamp"] !== undefined,
    isHostNetwork: spec["hostNetwork"] === true,
    ips: (ips.length > 0 ? ips : first === undefined ? [] : [first]).map(normalHost),
    ports: containers.flatMap((container) => asList(asMapping(container)["ports"])).map(asMapping).flatMap((
      port,
    ) =>
      typeof port["containerPort"] !== "number"
        ? []
        : [{ name: asText(port["name"]) ?? "", protocol: protocolOf(port), port: port["containerPort"] }]
    ),
  };
}

function protocolOf(port: Mapping): "TCP" | "UDP" | "SCTP" {
  return oneOf(port["protocol"], ["TCP", "UDP", "SCTP"] as const) ?? "TCP";
}

function oneOf<T extends string>(value: unknown, known: readonly T[]): T | undefined {
  return known.find((one) => one === value);
}
