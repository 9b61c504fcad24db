import type { FarName, FarNames } from "../../core/mod.ts";
import { parseIPv4, type Target } from "../../words/mod.ts";
import {
  answerTtl,
  type DnsAnswer,
  type DnsAnswers,
  type DnsAsked,
  type DnsData,
  type DnsRecord,
} from "../../dns/mod.ts";
import { namedPorts, type Route, type Router } from "../../routing/mod.ts";
import { type FakeAddresses, isHostName } from "./fake_addresses.ts";
import { type Plan, transportOf } from "../../plan/mod.ts";
import { reverseAddress } from "./reverse_name.ts";

/** The state from which names are answered. */
export interface DnsState {
  readonly plan: Plan;
  readonly fakes?: FakeAddresses | undefined;
  readonly loopback?: LoopbackAddresses | undefined;
}

/** Gives names loopback addresses on which the instance listens. */
export interface LoopbackAddresses {
  /** Listens on these ports of the name's address and returns the address. */
  open(name: string, ports: readonly number[]): Promise<string>;
  /** The name of an address; undefined outside the range, "" for an address without a name. */
  nameOf(address: string): string | undefined;
  /** Called for a name that has no address because its ports are unknown. */
  portless(name: string): void;
}

/** Waits for the clusters that could change the route of a target. */
export type Look = (target: Target, options: { readonly signal: AbortSignal }) => Promise<unknown>;

/** TTL of a fake address in seconds. The address of a name rarely changes. */
const fakeTtl = 60;
/** How many aliases to follow. */
const mostAliases = 8;

/**
 * Answers the names that belong to the instance: names below `dns.domains`, names in rules that pick
 * a transport, and names of clusters. A rule for everything (`default`, `any`, `<local>`) adds no
 * name: public names have to resolve elsewhere.
 */
export class DnsNames implements DnsAnswers {
  readonly #now: () => DnsState;
  readonly #look: Look;

  constructor(now: () => DnsState, look: Look) {
    this.#now = now;
    this.#look = look;
  }

  answer(asked: DnsAsked, { signal }: { signal: AbortSignal }): DnsAnswer | Promise<DnsAnswer> {
    return this.#answer(asked, { signal, left: mostAliases, hasLooked: false });
  }

  #answer({ name, type }: DnsAsked, following: Following): DnsAnswer | Promise<DnsAnswer> {
    const state = this.#now();
    const address = reverseAddress(name);
    if (address !== undefined) return reversed(name, address, { ...state, type });
    const answering = answeringOf(name, state.plan);
    if (!answering) return { kind: "notOurs" };
    const { zone, names, isDialable } = answering;
    if (names) return this.#fromCluster({ name, type }, { ...answering, names }, following);
    if (!isDialable) return { kind: zone === name ? "nodata" : "unknown", zone: zone ?? name };
    // A name that postern reaches directly has to resolve to its own address.
    if (state.loopback && !state.fakes && !isCaptured(name, state.plan)) {
      return following.hasLooked ? { kind: "notOurs" } : this.#looked({ name, type }, following);
    }
    return standing({ name, type }, zone ?? name, { ...state, ports: portsFor(name, state.plan) });
  }

  /** Answers after the clusters that may own the name: other resolvers must not see it before. */
  async #looked({ name, type }: DnsAsked, following: Following): Promise<DnsAnswer> {
    for (const port of portsOf(this.#now().plan.router)) await this.#look({ host: name, port }, following);
    following.signal.throwIfAborted();
    return await this.#answer({ name, type }, { ...following, hasLooked: true });
  }

  async #fromCluster(
    { name, type }: DnsAsked,
    { names, zone, isNamed }: Answering & { readonly names: FarNames },
    following: Following,
  ): Promise<DnsAnswer> {
    const { signal, left } = following;
    const found = await names.find(name, { signal });
    if (!found) {
      if (zone === undefined) return { kind: "notOurs" };
      // The zone itself exists, even without records.
      return { kind: name === zone ? "nodata" : "unknown", zone };
    }
    const isAddress = type === "A" || type === "AAAA" || type === "ANY";
    const state = this.#now();
    const ports = state.loopback ? portsFor(name, state.plan, found.ports) : [];
    const hasOwn = ports.length > 0 || (isNamed && state.fakes);
    if (hasOwn && isAddress && found.addresses.length > 0) {
      return await standing({ name, type }, zone ?? name, { ...state, ports });
    }
    const records = recordsOf({ name, type }, found);
    if (found.alias !== undefined && type !== "CNAME") {
      records.push(...await this.#followed(found.alias, type, { ...following, left: left - 1 }));
    }
    if (records.length === 0) return { kind: "nodata", zone: zone ?? name };
    const additionals = type === "SRV" && !isNamed && !state.loopback ? addressesOf(found) : [];
    return { kind: "records", zone: zone ?? name, records, additionals };
  }

  /** Stub resolvers expect the whole alias chain; they look up names outside the instance elsewhere. */
  async #followed(
    alias: string,
    type: DnsAsked["type"],
    following: Following,
  ): Promise<readonly DnsRecord[]> {
    if (following.left < 0 || !answeringOf(alias, this.#now().plan)) return [];
    const answer = await this.#answer({ name: alias, type }, following);
    return answer.kind === "records" ? answer.records : [];
  }
}

interface Following {
  readonly signal: AbortSignal;
  /** How many more aliases to follow. */
  readonly left: number;
  /** Whether the clusters that may own the name have answered, or do not answer. */
  readonly hasLooked: boolean;
}

/** How a name is answered. */
interface Answering {
  /** The apex of the zone around the name; undefined if only a cluster can know. */
  readonly zone: string | undefined;
  readonly names?: FarNames | undefined;
  /** Whether the name is below `dns.domains`. */
  readonly isNamed: boolean;
  /** Whether clients may dial the name through the instance, at a fake address. */
  readonly isDialable: boolean;
}

function answeringOf(name: string, plan: Plan): Answering | undefined {
  const domain = domainOf(name, plan.config.settings.dns?.domains ?? []);
  const isNamed = domain !== undefined;
  for (const port of portsOf(plan.router)) {
    const route = plan.router.route({ host: name, port });
    const { transport: { names }, type } = transportOf(plan, route);
    const zone = zoneOf(route) ?? domain;
    if (names) return { zone, names, isDialable: false, isNamed };
    if (type !== "direct" && type !== "reject" && zone !== undefined) {
      return { zone, isDialable: true, isNamed };
    }
  }
  if (domain !== undefined) return { zone: domain, isDialable: true, isNamed };
  // The apex of a rule that matches only names below it.
  const below = plan.router.route({ host: `x.${name}`, port: 0 });
  const isApex = zoneOf(below) === name && transportOf(plan, below).type !== "direct";
  return isApex ? { zone: name, isDialable: false, isNamed } : undefined;
}

/** The name in the rule that matched, if it has one. */
function zoneOf({ rule }: Route): string | undefined {
  return rule?.pattern.kind === "name" ? rule.pattern.name : undefined;
}

/** The longest of the domains that contains the name. */
function domainOf(name: string, domains: readonly string[]): string | undefined {
  const around = domains.filter((domain) => name === domain || name.endsWith(`.${domain}`));
  return around.sort((one, other) => other.length - one.length)[0];
}

/** The ports that rules name, and 0 for rules without a port: a DNS query has no port. */
function portsOf(router: Router): readonly number[] {
  return [0, ...namedPorts(router).slice(0, mostPorts)];
}

const mostPorts = 64;

/** Whether a route does not reach its target directly. A held target may still turn out to be a cluster's. */
function isFar(plan: Plan, route: Route): boolean {
  const { type } = transportOf(plan, route);
  return route.held !== undefined || (type !== "direct" && type !== "reject");
}

/** Whether any port of a name has a route other than direct. */
function isCaptured(name: string, plan: Plan): boolean {
  const ports = [...portsOf(plan.router), ...plan.config.settings.dns?.ports ?? []];
  return ports.some((port) => isFar(plan, plan.router.route({ host: name, port })));
}

/**
 * The ports of a name's loopback address: its own ports if known, the ports of its rules, or else `dns.ports`.
 * Ports with a direct route are not among them, because a connection would come back to the instance.
 */
function portsFor(name: string, plan: Plan, own?: readonly number[]): readonly number[] {
  const routed = (port: number) => plan.router.route({ host: name, port });
  const ruled = portsOf(plan.router).filter((port) => port > 0 && routed(port).rule?.pattern.port === port);
  const others = own ?? plan.config.settings.dns?.ports ?? [];
  return [...new Set([...ruled, ...others])].filter((port) => isFar(plan, routed(port)));
}

/** How a reload changes the listeners of a name: it closes them, keeps them, or changes their ports. */
export function portsAfterReload(name: string, plan: Plan): readonly number[] | "kept" {
  const answering = answeringOf(name, plan);
  // The next query reads the ports from the cluster.
  if (answering?.names) return isCaptured(name, plan) ? "kept" : [];
  return answering?.isDialable ? portsFor(name, plan) : [];
}

/** Answers a name with its own address: of the loopback range if its ports are known, or of the fake range. */
async function standing(
  { name, type }: DnsAsked,
  zone: string,
  { fakes, loopback, ports }: DnsState & { readonly ports: readonly number[] },
): Promise<DnsAnswer> {
  // Without a range there is no address; a name that cannot be a host name gets none either.
  if ((!fakes && !loopback) || !isHostName(name)) {
    return { kind: name === zone ? "nodata" : "unknown", zone };
  }
  if (type !== "A" && type !== "ANY") return { kind: "nodata", zone };
  if (loopback && ports.length > 0) {
    const address = await loopback.open(name, ports);
    // Short, so that clients soon ask again for a name whose listeners were closed.
    return { kind: "records", zone, records: [{ name, ttl: answerTtl, type: "A", address }] };
  }
  if (!fakes) {
    loopback?.portless(name);
    return { kind: "nodata", zone };
  }
  const address = await fakes.addressOf(name);
  return { kind: "records", zone, records: [{ name, ttl: fakeTtl, type: "A", address }] };
}

/** Answers a reverse query with the name of an address. */
function reversed(
  name: string,
  address: string,
  { plan, fakes, loopback, type }: DnsState & { type: DnsAsked["type"] },
): DnsAnswer {
  const named = (target: string, zone: string): DnsAnswer =>
    type === "PTR" || type === "ANY"
      ? { kind: "records", zone, records: [{ name, ttl: answerTtl, type: "PTR", target }] }
      : { kind: "nodata", zone };
  const fake = loopback?.nameOf(address) ?? fakes?.nameOf(address);
  if (fake !== undefined) {
    // The answered zone is a /16: a larger zone could contain addresses of other networks.
    const zone = name.split(".").slice(2).join(".");
    return fake === "" ? { kind: "unknown", zone } : named(fake, zone);
  }
  for (const { transport } of plan.transports.byName.values()) {
    const target = transport.names?.nameOf(address);
    if (target !== undefined) return named(target, name);
  }
  return { kind: "notOurs" };
}

function recordsOf({ name, type }: DnsAsked, { addresses, alias, services = [] }: FarName): DnsRecord[] {
  const of = (data: DnsData): DnsRecord => ({ name, ttl: answerTtl, ...data });
  if (alias !== undefined) return [of({ type: "CNAME", target: alias })];
  if (type === "SRV") {
    // All records have the same weight: the cluster balances the connections to an address.
    return services.map(({ name, port }) =>
      of({ type: "SRV", priority: 0, weight: 100, port, target: name })
    );
  }
  return addresses.map(addressData).filter((data) => type === "ANY" || type === data.type).map(of);
}

/** The addresses of the SRV targets. */
function addressesOf({ services = [] }: FarName): DnsRecord[] {
  const seen = new Set<string>();
  return services.flatMap(({ name, addresses }) => {
    if (seen.has(name)) return [];
    seen.add(name);
    return addresses.map((address): DnsRecord => ({ name, ttl: answerTtl, ...addressData(address) }));
  });
}

function addressData(address: string): DnsData {
  return { type: parseIPv4(address) ? "A" : "AAAA", address };
}
