import type { FarName, FarNames, FarService } from "../../core/mod.ts";
import { formatIp, isPosternError, parseIp, unmapped } from "../../words/mod.ts";
import type { ClusterView, EndpointRecord, ServiceRecord, SliceRecord } from "../api/cluster_view.ts";
import { dashedAddress, parseServiceName, plainName, type ServiceNameOptions } from "./service_names.ts";

/** The parts of a cluster's view that DNS answers need. */
export type NamedView = Pick<
  ClusterView,
  "ready" | "service" | "byClusterIp" | "endpoints" | "services" | "podByIp"
>;

/** A Service name in a namespace, with the host that contains it. */
interface Asked {
  readonly namespace: string;
  readonly service: string;
  /** The host from the Service on; targets of SRV records are below it. */
  readonly host: string;
}

/**
 * Answers what a cluster's own DNS would for its Services (specification "Kubernetes DNS-Based Service
 * Discovery" 1.1), from the objects in memory.
 */
export class ServiceDns implements FarNames {
  readonly #view: NamedView;
  readonly #options: ServiceNameOptions;

  constructor(view: NamedView, options: ServiceNameOptions) {
    this.#view = view;
    this.#options = options;
  }

  async find(host: string, { signal }: { signal: AbortSignal }): Promise<FarName | undefined> {
    const inner = withoutProtocol(host);
    const name = parseServiceName(inner, this.#options);
    if (!name) return await this.#isAbove(inner, signal) ? nothing : undefined;
    if (name.kind === "address") return undefined;
    if (name.kind === "pod") {
      const pods = await this.#view.podByIp(name.ip, { signal, namespaces: [name.namespace] });
      return pods.some(({ namespace }) => namespace === name.namespace)
        ? { addresses: [name.ip] }
        : undefined;
    }
    const { namespace, service } = name;
    await this.#view.ready(namespace, { signal });
    const record = this.#view.service(namespace, service);
    if (!record) return await this.#isAbove(inner, signal) ? nothing : undefined;
    // `_tcp.web.shop` exists, because there are names below it.
    if (inner !== host) return nothing;
    if (name.kind === "endpoint") return this.#endpoint(record, name.endpoint);
    if (name.port === undefined) return this.#service(record, { namespace, service, host });
    // `_http._tcp.web.shop`
    const below = host.split(".").slice(2).join(".");
    const services = this.#ports({ namespace, service, host: below }, record)
      .filter(({ portName }) => portName === name.port);
    return services.length === 0 ? undefined : { addresses: [], services };
  }

  nameOf(address: string): string | undefined {
    const service = this.#view.byClusterIp(address);
    if (!service) return undefined;
    const { clusterDomain, suffix = clusterDomain } = this.#options;
    return `${service.name}.${service.namespace}.svc.${suffix}`.toLowerCase();
  }

  /** The Services of the whole cluster, or of the default namespace if postern may not list more. */
  async all({ signal }: { readonly signal: AbortSignal }): Promise<string[][]> {
    const { namespace: own, clusterDomain, suffix } = this.#options;
    let scope: string | undefined;
    try {
      await this.#view.ready(undefined, { signal });
    } catch (error) {
      if (!isPosternError(error, "not_allowed")) throw error;
      await this.#view.ready(scope = own, { signal });
    }
    return [...this.#view.services(scope)].map(({ namespace, name }) => {
      const short = `${name}.${namespace}`.toLowerCase();
      const suffixed = suffix === undefined ? [] : [`${short}.${plainName(suffix)}`];
      return [`${short}.svc`, ...suffixed, `${short}.svc.${plainName(clusterDomain)}`, short];
    });
  }

  #service(record: ServiceRecord, asked: Asked): FarName {
    if (record.type === "ExternalName") {
      return record.externalName ? { addresses: [], alias: plainName(record.externalName) } : nothing;
    }
    const addresses = isHeadless(record)
      ? this.#ready(record).flatMap(({ addresses: [first] }) => first ?? [])
      : record.clusterIps;
    return {
      addresses: unique(addresses.map(canonical)),
      services: this.#ports(asked, record),
      ...this.#tcpPorts(record),
    };
  }

  /** A pod of a headless Service, by its hostname, its name, or its address with dashes. */
  #endpoint(record: ServiceRecord, endpoint: string): FarName | undefined {
    const ip = dashedAddress(endpoint);
    const isMeant = ({ hostname, pod, addresses: [first] }: EndpointRecord) =>
      hostname === endpoint || pod === endpoint ||
      (ip !== undefined && first !== undefined && canonical(first) === ip);
    const found = this.#ready(record).filter(isMeant);
    const addresses = unique(
      found.flatMap(({ addresses: [first] }) => first === undefined ? [] : canonical(first)),
    );
    return addresses.length === 0 ? undefined : { addresses, ...this.#tcpPorts(record) };
  }

  /**
   * The TCP ports of a Service. Clients of a headless one connect to its pods, so they also use the ports of the
   * pods; without declared ports they may use any.
   */
  #tcpPorts(record: ServiceRecord): Pick<FarName, "ports"> {
    if (record.ports.length === 0) return {};
    const targets = isHeadless(record) ? this.#slices(record).flatMap(({ ports }) => ports) : [];
    const tcp = [...record.ports, ...targets].filter(({ protocol }) => protocol === "TCP");
    return { ports: [...new Set(tcp.flatMap(({ port }) => port ?? []))] };
  }

  #ports({ host }: Asked, record: ServiceRecord): (FarService & { readonly portName: string })[] {
    const ports = record.ports.filter(({ protocol, name }) => protocol === "TCP" && name !== "");
    if (!isHeadless(record)) {
      const addresses = record.clusterIps.map(canonical);
      return ports.map(({ name, port }) => ({ portName: name, name: host, port, addresses }));
    }
    return this.#slices(record).flatMap((slice) =>
      slice.endpoints.filter((endpoint) => isReady(endpoint, record)).flatMap((endpoint) => {
        const [first] = endpoint.addresses;
        if (first === undefined) return [];
        const own = endpoint.hostname ?? dashed(canonical(first));
        return slice.ports.flatMap(({ name, port, protocol }) => {
          const isNamed = port !== undefined && protocol === "TCP" && ports.some((one) => one.name === name);
          return isNamed
            ? [{ portName: name, name: `${own}.${host}`, port, addresses: [canonical(first)] }]
            : [];
        });
      })
    );
  }

  #ready(record: ServiceRecord): EndpointRecord[] {
    return this.#slices(record).flatMap(({ endpoints }) => endpoints.filter((one) => isReady(one, record)));
  }

  #slices({ namespace, name }: ServiceRecord): SliceRecord[] {
    return this.#view.endpoints(namespace, name).filter(({ addressType }) => addressType !== "FQDN");
  }

  /**
   * Whether a host exists only as a parent: `svc.cluster.local`, or a namespace below it or before the
   * suffix.
   */
  async #isAbove(host: string, signal: AbortSignal): Promise<boolean> {
    const { clusterDomain, suffix } = this.#options;
    const name = plainName(host);
    for (const domain of [clusterDomain, ...(suffix === undefined ? [] : [suffix])].map(plainName)) {
      if ([domain, `svc.${domain}`, `pod.${domain}`].includes(name)) return true;
      const namespace = below(name, `svc.${domain}`) ??
        (domain === clusterDomain ? undefined : below(name, domain));
      if (namespace !== undefined && await this.#hasServices(namespace, signal)) return true;
    }
    const namespace = below(name, "svc");
    return name === "svc" || (namespace !== undefined && await this.#hasServices(namespace, signal));
  }

  async #hasServices(namespace: string, signal: AbortSignal): Promise<boolean> {
    await this.#view.ready(namespace, { signal });
    for (const _ of this.#view.services(namespace)) return true;
    return false;
  }
}

const nothing: FarName = { addresses: [] };

/** The single label before a domain. */
function below(name: string, domain: string): string | undefined {
  const label = name.endsWith(`.${domain}`) ? name.slice(0, -domain.length - 1) : "";
  return /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(label) ? label : undefined;
}

function withoutProtocol(host: string): string {
  return /^_(?:tcp|udp)\./i.test(host) ? host.slice(5) : host;
}

/** Whether a Service has no cluster IP, or none yet. */
function isHeadless({ isHeadless, clusterIps }: ServiceRecord): boolean {
  return isHeadless || clusterIps.length === 0;
}

function isReady({ isReady }: EndpointRecord, { publishesNotReady }: ServiceRecord): boolean {
  return isReady || publishesNotReady;
}

function canonical(ip: string): string {
  const bytes = parseIp(ip);
  return bytes ? formatIp(unmapped(bytes)) : ip;
}

/** `10-1-2-3`, `2001-db8--7`; a label cannot begin or end with a dash. */
function dashed(ip: string): string {
  return ip.replace(/[.:]/g, "-").replace(/^-/, "0-").replace(/-$/, "-0");
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
