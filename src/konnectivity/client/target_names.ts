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

/** Where a target is, and from where it is dialled. */
export type TargetPath =
  /** From this machine, by its name. */
  | { readonly from: "here"; readonly hosts?: undefined }
  /** From this machine or from the agent; the hosts are to be tried in this order. */
  | { readonly from: "here" | "agent"; readonly hosts: readonly string[] };

export interface TargetNamesParts {
  readonly network: Network;
  readonly clock: Clock;
  /** The transport that the settings call `services`. */
  readonly services: () => Transport | undefined;
  /** Through the server, an address. */
  readonly dialAddress: Dialer;
}

/**
 * What names mean for the targets of a Konnectivity server, in the order of HyperShift's proxies: the APIs of clouds are
 * dialled from here; Services of the guest cluster have their addresses; the cluster's own DNS knows the rest, or this
 * machine's where that cannot be asked.
 */
export class TargetNames implements Disposable {
  readonly #settings: NamesSettings;
  readonly #parts: TargetNamesParts;
  readonly #guest: GuestDns;
  /** Why the guest's DNS could not be asked last, and when it may be asked again, by the clock. */
  #failed: { readonly error: unknown; until: number } | undefined;
  /** Until when it is known that the whole cluster may not be looked at, by the clock. */
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
    // An ExternalName is another name, of a Service or of anything.
    if (service?.alias !== undefined && depth < mostAliases) {
      const alias = normalHost(service.alias);
      options.onStep?.(`${host} is the ExternalName ${alias}`);
      return await this.#named({ host: alias, port: target.port }, options, { depth: depth + 1, failures });
    }
    if (service && isServiceName(host)) {
      failures.push(
        notFound(host, "no address belongs to it; a headless Service has those of its ready endpoints"),
      );
    }
    if (this.#settings.guestDNS) return await this.#byDns(target, options, failures);
    return await this.#otherwise(host, options, failures);
  }

  /** What the guest's API says of a name that may be a Service's; undefined where it is none, or cannot be asked. */
  async #service(host: string, { signal }: DialOptions, failures: unknown[]): Promise<FarName | undefined> {
    const { services: name } = this.#settings;
    if (name === undefined || !host.includes(".")) return undefined;
    const { clock } = this.#parts;
    const error = () =>
      new PosternError("timeout", `Cannot ask the API of "${name}" for Services: no answer in time`);
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
      throw new PosternError("config", `Cannot ask "${name}" for Services: it has none`, {
        hint: "name a transport of kind kubernetes as names.services",
      });
    }
    await this.#holdAll(transport, signal);
    const found = await transport.names.find(host, { signal });
    return found && (found.addresses.length > 0 || found.alias !== undefined || isServiceName(host))
      ? found
      : undefined;
  }

  /** The whole cluster where that is allowed: a name of two labels is then told from a Service without a question. */
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
      `Cannot find the Service ${where.namespace}/${where.name} of the cluster's DNS`,
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
        // That there is no such name is an answer: the cluster's DNS is there.
        if (isPosternError(error, "name_not_found")) this.#failed = undefined;
        failures.push(error);
      }
    } else failures.push(this.#failed?.error);
    return await this.#fromHere(target, options, failures);
  }

  /** One asks again every so often; the others go on from here until it has an answer. */
  #mayAskGuest(): boolean {
    const now = this.#parts.clock.now();
    if (!this.#failed) return true;
    if (now < this.#failed.until) return false;
    this.#failed.until = now + guestRetry;
    return true;
  }

  async #fromHere(target: Target, options: DialOptions, failures: unknown[]): Promise<TargetPath> {
    const { host, port } = target;
    // A DNS server is the cluster's; a name of the cluster that this machine knows too is something else here.
    if (!this.#settings.managementDNS || port === dnsPort || isServiceName(host)) {
      throw unknown(host, failures);
    }
    const failure = failures.at(-1);
    const addresses = await this.#lookedUp(host, options, { failures, decisive: failure });
    if (!isPosternError(failure, "name_not_found") && !this.#failed) {
      this.#failed = { error: failure, until: this.#parts.clock.now() + guestRetry };
    }
    options.onStep?.(`found ${host}: ${addresses.join(", ")} (this machine's resolver, dialled from here)`);
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

/** One error of all that were asked. Where `decisive` is no answer, there may be such a name. */
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

/** A failure of something else than the name keeps its name. */
function saidOf(host: string, failure: unknown): string {
  const isOfName = failure instanceof PosternError && failure.message.includes(`"${host}"`);
  return isOfName ? reasonOf(failure) : asCause(describe(failure));
}

/** Whether a name can be nothing but a cluster's own. */
function isServiceName(host: string): boolean {
  return host.endsWith(".svc") || host.endsWith(".cluster.local");
}

function notFound(host: string, why: string): PosternError {
  return new PosternError("name_not_found", `Cannot find "${host}": ${why}`);
}

const dnsPort = 53;
/** How many ExternalNames may lead to one another. */
const mostAliases = 4;
/** How many addresses of one name are tried. */
const mostAddresses = 8;
/** How long the guest's API may take to say what a name is, in ms. */
const servicesLimit = 5000;
/** How soon a cluster's DNS that cannot be asked is asked again, in ms. */
const guestRetry = 30_000;
/** How long not to ask again for the right to look at the whole cluster, in ms. */
const narrowFor = 10 * 60_000;
