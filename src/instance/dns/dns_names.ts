import type { FarName, FarNames } from "../../core/mod.ts";
import { parseIPv4 } from "../../words/mod.ts";
import {
  answerTtl,
  type DnsAnswer,
  type DnsAnswers,
  type DnsAsked,
  type DnsData,
  type DnsRecord,
} from "../../dns/mod.ts";
import type { Route, Router } from "../../routing/mod.ts";
import type { FakeAddresses } from "./fake_addresses.ts";
import { type Plan, transportOf } from "../../plan/mod.ts";
import { reverseAddress } from "./reverse_name.ts";

/** What the names of now are told from. */
export interface DnsState {
  readonly plan: Plan;
  readonly fakes?: FakeAddresses | undefined;
}

/** How long clients may keep an address that stands for a name, in seconds: it stays the same for long. */
const fakeTtl = 60;
/** How many names are followed that are only other names. */
const mostAliases = 8;

/**
 * The names that are the door's: those below `dns.domains`, those that a rule with a name in it sends through a
 * transport, and whatever else is a name of a cluster. That everything goes one way (`default`, `any`, `<local>`)
 * makes no name ours: the rest of the world's names would have to be asked for elsewhere.
 */
export class DnsNames implements DnsAnswers {
  readonly #now: () => DnsState;

  constructor(now: () => DnsState) {
    this.#now = now;
  }

  answer({ name, type }: DnsAsked, { signal }: { signal: AbortSignal }): DnsAnswer | Promise<DnsAnswer> {
    const state = this.#now();
    const address = reverseAddress(name);
    if (address !== undefined) return reversed(name, address, { ...state, type });
    const way = wayOf(name, state.plan);
    if (!way) return { kind: "notOurs" };
    const { zone, names, isWay } = way;
    if (names) return this.#fromCluster({ name, type }, { ...way, names }, { signal });
    if (!isWay) return { kind: zone === name ? "nodata" : "unknown", zone: zone ?? name };
    return standing({ name, type }, zone ?? name, state);
  }

  async #fromCluster(
    { name, type }: DnsAsked,
    { names, zone, isNamed }: Way & { readonly names: FarNames },
    { signal }: { signal: AbortSignal },
  ): Promise<DnsAnswer> {
    const found = await names.find(name, { signal });
    if (!found) {
      if (zone === undefined) return { kind: "notOurs" };
      // The zone itself is there, whatever it holds.
      return { kind: name === zone ? "nodata" : "unknown", zone };
    }
    const isAddress = type === "A" || type === "AAAA" || type === "ANY";
    const state = this.#now();
    if (isNamed && state.fakes && isAddress && found.addresses.length > 0) {
      return await standing({ name, type }, zone ?? name, state);
    }
    const records = recordsOf({ name, type }, found);
    if (found.alias !== undefined && type !== "CNAME") {
      records.push(...await this.#followed(found.alias, type, { signal, left: mostAliases }));
    }
    if (records.length === 0) return { kind: "nodata", zone: zone ?? name };
    const additionals = type === "SRV" && !isNamed ? addressesOf(found) : [];
    return { kind: "records", zone: zone ?? name, records, additionals };
  }

  /** Clients that are no resolvers want the whole way of an alias; what is not ours they have to ask for elsewhere. */
  async #followed(
    alias: string,
    type: DnsAsked["type"],
    { signal, left }: { signal: AbortSignal; left: number },
  ): Promise<readonly DnsRecord[]> {
    const way = left > 0 ? wayOf(alias, this.#now().plan) : undefined;
    if (!way?.names) return [];
    const found = await way.names.find(alias, { signal });
    if (!found) return [];
    const records = recordsOf({ name: alias, type }, found);
    if (found.alias === undefined) return records;
    return [...records, ...await this.#followed(found.alias, type, { signal, left: left - 1 })];
  }
}

/** Whose a name is. */
interface Way {
  /** The apex of what is ours around it; absent where only a cluster can say that it is. */
  readonly zone: string | undefined;
  readonly names?: FarNames | undefined;
  /** Whether it is below `dns.domains`. */
  readonly isNamed: boolean;
  /** Whether it may be dialled through the door, by an address that stands for it. */
  readonly isWay: boolean;
}

function wayOf(name: string, plan: Plan): Way | undefined {
  const domain = domainOf(name, plan.config.settings.dns?.domains ?? []);
  const isNamed = domain !== undefined;
  for (const port of portsOf(plan.router)) {
    const route = plan.router.route({ host: name, port });
    const { transport: { names }, type } = transportOf(plan, route);
    const zone = zoneOf(route) ?? domain;
    if (names) return { zone, names, isWay: false, isNamed };
    if (type !== "direct" && type !== "reject" && zone !== undefined) return { zone, isWay: true, isNamed };
  }
  if (domain !== undefined) return { zone: domain, isWay: true, isNamed };
  // The apex of a rule for what is only below it.
  const below = plan.router.route({ host: `x.${name}`, port: 0 });
  const isApex = zoneOf(below) === name && transportOf(plan, below).type !== "direct";
  return isApex ? { zone: name, isWay: false, isNamed } : undefined;
}

/** The name in the rule that has decided, where there is one in it. */
function zoneOf({ rule }: Route): string | undefined {
  return rule?.pattern.kind === "name" ? rule.pattern.name : undefined;
}

/** The longest of the domains that a name is in. */
function domainOf(name: string, domains: readonly string[]): string | undefined {
  const around = domains.filter((domain) => name === domain || name.endsWith(`.${domain}`));
  return around.sort((one, other) => other.length - one.length)[0];
}

/** Ports by which rules tell, and 0 for the rules without one: a question of DNS has none. */
function portsOf({ rules }: Router): readonly number[] {
  let ports = portsOfRules.get(rules);
  if (!ports) {
    const named = rules.flatMap(({ pattern: { port } }) => port ?? []);
    ports = [0, ...[...new Set(named)].slice(0, mostPorts)];
    portsOfRules.set(rules, ports);
  }
  return ports;
}

/** Rules stay the same while the tables of clusters change. */
const portsOfRules = new WeakMap<Router["rules"], readonly number[]>();
const mostPorts = 64;

/** An address of the fake range for a name. */
async function standing(
  { name, type }: DnsAsked,
  zone: string,
  { fakes }: DnsState,
): Promise<DnsAnswer> {
  // Without a range there is no address to give, and what is no host's name stands for nothing.
  const isHost = /^(?:[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?$/.test(name);
  if (!fakes || !isHost) return { kind: name === zone ? "nodata" : "unknown", zone };
  if (type !== "A" && type !== "ANY") return { kind: "nodata", zone };
  const address = await fakes.addressOf(name);
  return { kind: "records", zone, records: [{ name, ttl: fakeTtl, type: "A", address }] };
}

/** The name behind an address. */
function reversed(
  name: string,
  address: string,
  { plan, fakes, type }: DnsState & { type: DnsAsked["type"] },
): DnsAnswer {
  const named = (target: string, zone: string): DnsAnswer =>
    type === "PTR" || type === "ANY"
      ? { kind: "records", zone, records: [{ name, ttl: answerTtl, type: "PTR", target }] }
      : { kind: "nodata", zone };
  const fake = fakes?.nameOf(address);
  if (fake !== undefined) {
    // All networks with the same first two numbers are one zone, as those with fewer bits could be somebody's.
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
    // Each has the same weight: the cluster itself spreads what comes to an address.
    return services.map(({ name, port }) =>
      of({ type: "SRV", priority: 0, weight: 100, port, target: name })
    );
  }
  return addresses.map(addressData).filter((data) => type === "ANY" || type === data.type).map(of);
}

/** The addresses of the targets of SRV records. */
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
