import { type Clock, type DialOptions, type FarName, type Transport, within } from "../../core/mod.ts";
import {
  asCause,
  describe,
  isPosternError,
  normalHost,
  parseIp,
  parseIPv4,
  PosternError,
  reasonOf,
  type Target,
} from "../../words/mod.ts";
import type { Dialer, Network } from "../../world/mod.ts";
import { interleaved } from "../../http/mod.ts";
import { isCloudHost } from "./cloud_hosts.ts";
import { GuestDns } from "./guest_dns.ts";
import type { NamesSettings } from "./konnectivity_settings.ts";

/** The addresses of a target and where to dial them. */
export type TargetPath =
  /** From this machine, by name. */
  | { readonly from: "here"; readonly hosts?: undefined }
  /** From this machine or the agent, in this order of hosts. */
  | { readonly from: "here" | "agent"; readonly hosts: readonly string[] };

export interface TargetNamesParts {
  readonly network: Network;
  readonly clock: Clock;
  /** Returns the transport named by the `services` setting. */
  readonly services: () => Transport | undefined;
  /** Dials an address through the server. */
  readonly dialAddress: Dialer;
}

/**
 * Resolves names for targets of a Konnectivity server, in the order of HyperShift's proxies. With
 * `cloudDirect`, cloud APIs are dialed from this machine. A Service name resolves to the Service's addresses.
 * With `guestDNS`, the cluster's DNS resolves other names; if that fails and `managementDNS` is set, this
 * machine resolves and dials them. Without `guestDNS`, `otherwise` decides.
 */
export class TargetNames implements Disposable {
  readonly #settings: NamesSettings;
  readonly #parts: TargetNamesParts;
  readonly #guest: GuestDns;
  /** The last failure of the guest's DNS, and the time of the next attempt by the clock. */
  #failed: { readonly error: unknown; until: number } | undefined;
  /** Until this time, do not retry watching the whole cluster, which RBAC denied. */
  #narrowUntil = -Infinity;

  constructor(settings: NamesSettings, parts: TargetNamesParts) {
    this.#settings = settings;
    this.#parts = parts;
    this.#guest = new GuestDns({
      clock: parts.clock,
      servers: (options) => this.#dnsServers(options),
      dial: parts.dialAddress,
    });
  }

  async pathTo(target: Target, options: DialOptions): Promise<TargetPath> {
    const host = normalHost(target.host);
    if (parseIp(host)) return { from: "agent", hosts: [host] };
    if (this.#settings.cloudDirect && isCloudHost(host)) return { from: "here" };
    return await this.#named({ host, port: target.port }, options, { depth: 0, failures: [] });
  }

  [Symbol.dispose](): void {
    this.#guest[Symbol.dispose]();
  }

  async #named(
    target: Target,
    options: DialOptions,
    { depth, failures }: { readonly depth: number; readonly failures: unknown[] },
  ): Promise<TargetPath> {
    const { host } = target;
    const service = await this.#service(host, options, failures);
    if (service && service.addresses.length > 0) {
      return this.#far(host, service.addresses, { options, by: "its Service" });
    }
    // An ExternalName is an alias for a Service or any other name.
    if (service?.alias !== undefined && depth < mostAliases) {
      const alias = normalHost(service.alias);
      options.onStep?.(`${host} is the ExternalName ${alias}`);
      return await this.#named({ host: alias, port: target.port }, options, { depth: depth + 1, failures });
    }
    if (service && isServiceName(host)) {
      failures.push(
        notFound(host, "the Service has no address; a headless Service needs ready endpoints"),
      );
    }
    if (this.#settings.guestDNS) return await this.#byDns(target, options, failures);
    return await this.#otherwise(host, options, failures);
  }

  /** Looks up a possible Service name in the guest's API; undefined when it is none or the lookup fails. */
  async #service(host: string, { signal }: DialOptions, failures: unknown[]): Promise<FarName | undefined> {
    const { services: name } = this.#settings;
    if (name === undefined || !host.includes(".")) return undefined;
    const { clock } = this.#parts;
    const error = () => new PosternError("timeout", `Cannot look up Services through "${name}": timeout`);
    try {
      return await within(
        { clock, ms: servicesLimit, signal, error },
        (signal) => this.#find(host, { signal }),
      );
    } catch (error) {
      signal.throwIfAborted();
      failures.push(error);
      return undefined;
    }
  }

  async #find(host: string, { signal }: { readonly signal: AbortSignal }): Promise<FarName | undefined> {
    const { services: name = "" } = this.#settings;
    const transport = this.#parts.services();
    if (!transport?.names) {
      throw new PosternError(
        "config",
        `Cannot look up Services through "${name}": this transport has no Services`,
        {
          hint: "set names.services to a kubernetes transport",
        },
      );
    }
    await this.#holdAll(transport, signal);
    const found = await transport.names.find(host, { signal });
    return found && (found.addresses.length > 0 || found.alias !== undefined || isServiceName(host))
      ? found
      : undefined;
  }

  /** Watches the whole cluster if allowed; then two-label names need no API request. */
  async #holdAll({ tables }: Transport, signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    if (!tables || tables.current || clock.now() < this.#narrowUntil) return;
    try {
      await tables.follow({ signal });
    } catch (error) {
      if (!isPosternError(error, "not_allowed")) throw error;
      this.#narrowUntil = clock.now() + narrowFor;
    }
  }

  async #dnsServers({ signal }: { readonly signal: AbortSignal }): Promise<readonly string[]> {
    const { guestDNSService: where } = this.#settings;
    if ("address" in where) return [where.address];
    const found = await this.#find(`${where.name}.${where.namespace}.svc`, { signal });
    if (found && found.addresses.length > 0) return found.addresses;
    throw new PosternError(
      "unreachable",
      `Cannot find the cluster's DNS Service ${where.namespace}/${where.name}`,
    );
  }

  async #byDns(target: Target, options: DialOptions, failures: unknown[]): Promise<TargetPath> {
    const { host } = target;
    const { signal } = options;
    if (this.#mayAskGuest()) {
      try {
        const addresses = await this.#guest.resolve(host, { signal });
        this.#failed = undefined;
        return this.#far(host, addresses, { options, by: "the cluster's DNS" });
      } catch (error) {
        signal.throwIfAborted();
        // "No such name" is a valid response: the cluster's DNS works.
        if (isPosternError(error, "name_not_found")) this.#failed = undefined;
        failures.push(error);
      }
    } else failures.push(this.#failed?.error);
    return await this.#fromHere(target, options, failures);
  }

  /** Only one dial retries at intervals; the others use this machine's resolver until it succeeds. */
  #mayAskGuest(): boolean {
    const now = this.#parts.clock.now();
    if (!this.#failed) return true;
    if (now < this.#failed.until) return false;
    this.#failed.until = now + guestRetry;
    return true;
  }

  async #fromHere(target: Target, options: DialOptions, failures: unknown[]): Promise<TargetPath> {
    const { host, port } = target;
    // A DNS server belongs to the cluster, and a cluster name means something else on this machine.
    if (!this.#settings.managementDNS || port === dnsPort || isServiceName(host)) {
      throw unknown(host, failures);
    }
    const failure = failures.at(-1);
    const addresses = await this.#lookedUp(host, options, { failures, decisive: failure });
    if (!isPosternError(failure, "name_not_found") && !this.#failed) {
      this.#failed = { error: failure, until: this.#parts.clock.now() + guestRetry };
    }
    options.onStep?.(
      `found ${host}: ${addresses.join(", ")} (this machine's resolver, dialed from this machine)`,
    );
    return { from: "here", hosts: this.#inOrder(addresses) };
  }

  async #otherwise(host: string, options: DialOptions, failures: unknown[]): Promise<TargetPath> {
    if (isServiceName(host) && this.#settings.services !== undefined) throw unknown(host, failures);
    if (this.#settings.otherwise === "agent") return { from: "agent", hosts: [host] };
    const addresses = await this.#lookedUp(host, options, { failures });
    return this.#far(host, addresses, { options, by: "this machine's resolver" });
  }

  async #lookedUp(
    host: string,
    { signal }: DialOptions,
    { failures, decisive }: { readonly failures: unknown[]; readonly decisive?: unknown },
  ): Promise<readonly string[]> {
    try {
      return await this.#parts.network.lookup(host, { signal });
    } catch (error) {
      signal.throwIfAborted();
      failures.push(error);
      throw unknown(host, failures, decisive);
    }
  }

  #far(
    host: string,
    addresses: readonly string[],
    { options, by }: { readonly options: DialOptions; readonly by: string },
  ): TargetPath {
    options.onStep?.(`found ${host}: ${addresses.join(", ")} (${by})`);
    const fours = this.#settings.preferIPv4 ? addresses.filter((address) => parseIPv4(address)) : [];
    const usable = fours.length > 0 ? fours : interleaved(addresses);
    return { from: "agent", hosts: usable.slice(0, mostAddresses) };
  }

  #inOrder(addresses: readonly string[]): readonly string[] {
    const isFour = (address: string) => parseIPv4(address) !== undefined;
    const ordered = this.#settings.preferIPv4
      ? [...addresses.filter(isFour), ...addresses.filter((address) => !isFour(address))]
      : interleaved(addresses);
    return ordered.slice(0, mostAddresses);
  }
}

/** Combines the failures of all lookups. Unless `decisive` is `name_not_found`, the name may exist. */
function unknown(
  host: string,
  failures: readonly unknown[],
  decisive: unknown = failures.at(-1),
): PosternError {
  if (failures.length === 0) return notFound(host, "the cluster has no such Service");
  const why = [...new Set(failures.map((failure) => saidOf(host, failure)))].join("; ");
  const hint = failures.flatMap((failure) => failure instanceof PosternError ? failure.hint ?? [] : [])[0];
  const code = isPosternError(decisive, "name_not_found") ? "name_not_found" : "unreachable";
  return new PosternError(code, `Cannot find "${host}": ${why}`, {
    cause: decisive,
    hint,
  });
}

/** The text of a failure; it keeps the subject unless that is the same name. */
function saidOf(host: string, failure: unknown): string {
  const isOfName = failure instanceof PosternError && failure.message.includes(`"${host}"`);
  return isOfName ? reasonOf(failure) : asCause(describe(failure));
}

/** Whether a name belongs only to the cluster. */
function isServiceName(host: string): boolean {
  return host.endsWith(".svc") || host.endsWith(".cluster.local");
}

function notFound(host: string, why: string): PosternError {
  return new PosternError("name_not_found", `Cannot find "${host}": ${why}`);
}

const dnsPort = 53;
/** The maximum length of an ExternalName chain. */
const mostAliases = 4;
/** The maximum number of addresses to try per name. */
const mostAddresses = 8;
/** Timeout of a Service lookup in the guest's API, in ms. */
const servicesLimit = 5000;
/** Delay before the next query to a failed cluster DNS, in ms. */
const guestRetry = 30_000;
/** Delay before the next attempt to watch the whole cluster, in ms. */
const narrowFor = 10 * 60_000;
