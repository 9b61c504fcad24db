import { formatIp, normalHost, parseIp, parseIPv4, parseIPv6, unmapped } from "../../words/mod.ts";

/** The meaning of a host name in a cluster; it may not exist. */
export type ClusterName =
  /** A Service; `port` is the name of a port, if the host contains it. */
  | { readonly kind: "service"; readonly namespace: string; readonly service: string; readonly port?: string }
  /** One endpoint of a Service, by its hostname, its pod's name, or its address with dashes. */
  | {
    readonly kind: "endpoint";
    readonly namespace: string;
    readonly service: string;
    readonly endpoint: string;
  }
  /** A pod in its namespace, by its address with dashes. */
  | { readonly kind: "pod"; readonly namespace: string; readonly ip: string }
  /** The address of a Service or a pod, in canonical form. */
  | { readonly kind: "address"; readonly ip: string };

export interface ServiceNameOptions {
  /** For names without a namespace. */
  readonly namespace: string;
  /** Almost always `cluster.local`. */
  readonly clusterDomain: string;
  /** The suffix of names in this cluster only: `lab.internal`. */
  readonly suffix?: string | undefined;
}

/**
 * Parses a host as a name in a cluster: `svc`, `svc.ns`, `svc.ns.svc`, the same below the cluster's domain,
 * names of pods and endpoints, `_port._tcp.svc.ns.svc`, and addresses. Undefined for any other name; only the
 * cluster's domain may follow `svc`.
 */
export function parseServiceName(host: string, options: ServiceNameOptions): ClusterName | undefined {
  const name = normalHost(host);
  const address = parseIp(name);
  if (address) return { kind: "address", ip: formatIp(unmapped(address)) };
  const own = options.suffix === undefined ? undefined : withoutSuffix(name, plainName(options.suffix));
  const labels = labelsOf(own ?? name, plainName(options.clusterDomain));
  if (!labels || labels.some((label) => !isLabel.test(label))) return undefined;
  const [first = "", second = options.namespace, third, fourth] = labels;
  switch (labels.at(-1)) {
    case "svc":
      if (labels.length >= 3) return inService(labels.slice(0, -1));
      break;
    case "pod":
      if (labels.length === 3) return podIn(second, first);
  }
  if (labels.length <= 2 && isName.test(first) && isName.test(second)) {
    return { kind: "service", namespace: second, service: first };
  }
  // Accept three labels only with the suffix; otherwise they may be a public domain.
  if (own === undefined || third === undefined) return undefined;
  return fourth === undefined || first.startsWith("_") ? inService(labels) : undefined;
}

/** A name in the form used for comparison: lower case, without the final dot. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/\.$/, "");
}

function withoutSuffix(name: string, suffix: string): string | undefined {
  return name.endsWith(`.${suffix}`) ? name.slice(0, -suffix.length - 1) : undefined;
}

/** The labels before the cluster's domain; undefined for an incomplete name. */
function labelsOf(name: string, clusterDomain: string): readonly string[] | undefined {
  if (name.length > 253 || name === "") return undefined;
  const below = withoutSuffix(name, clusterDomain);
  if (below === undefined) return name.split(".");
  const labels = below.split(".");
  const kind = labels.at(-1);
  return (kind === "svc" || kind === "pod") && labels.length >= 3 ? labels : undefined;
}

/** `svc.ns`, `endpoint.svc.ns` or `_port._tcp.svc.ns`. */
function inService(labels: readonly string[]): ClusterName | undefined {
  const [namespace = "", service = "", second, first, ...more] = [...labels].reverse();
  if (!isName.test(namespace) || !isName.test(service) || more.length > 0) return undefined;
  if (second === undefined) return { kind: "service", namespace, service };
  if (first !== undefined) {
    // UDP and SCTP cannot be forwarded.
    const isPort = second === "_tcp" && /^_[a-z0-9-]+$/.test(first);
    return isPort ? { kind: "service", namespace, service, port: first.slice(1) } : undefined;
  }
  return isName.test(second) ? { kind: "endpoint", namespace, service, endpoint: second } : undefined;
}

function podIn(namespace: string, dashed: string): ClusterName | undefined {
  const ip = dashedAddress(dashed);
  return ip === undefined || !isName.test(namespace) ? undefined : { kind: "pod", namespace, ip };
}

/** The address in `10-1-2-3` or `2001-db8--7`, in canonical form. */
export function dashedAddress(label: string): string | undefined {
  if (!/^[0-9a-f-]+$/.test(label)) return undefined;
  // A name cannot begin or end with a dash, so "::1" is written as "0--1" and "fd00::" as "fd00--0".
  const bytes = parseIPv4(label.replaceAll("-", ".")) ?? parseIPv6(label.replaceAll("-", ":"));
  return bytes && formatIp(unmapped(bytes));
}

const isLabel = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
const isName = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
