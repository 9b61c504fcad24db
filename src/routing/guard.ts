import type { FarDomain } from "../core/mod.ts";
import { formatIp, type IpBytes } from "../words/mod.ts";
import { clusterLabels, mayBeClusterAddress, mayBeClusterName } from "./first_contact.ts";
import { isInside, type NetworkNode, NetworkTree, nextNetwork } from "./network_tree.ts";
import type { Route } from "./router.ts";
import { hasAddress, type RankedRule } from "./rule_index.ts";
import type { Tables } from "./rule.ts";

/**
 * The learned facts about the clusters of rules with tables, by transport; undefined for a cluster without
 * any.
 */
export type Domains = ReadonlyMap<string, FarDomain | undefined>;

/** A cluster that owns a target, or may own it. */
export interface Owner {
  readonly transport: string;
  /** False while the facts that would decide are unknown. */
  readonly isSure: boolean;
  /** Why the cluster owns the target: `the cluster's Services are in 10.96.0.0/16`. */
  readonly why: string;
}

/** Why a target is held back although no table has it. */
export interface Held {
  readonly owners: readonly Owner[];
  /** The route without the guard. */
  readonly otherwise: Route;
}

/** The target in question: a comparable name, or an address. */
export interface Asked {
  readonly name: string;
  readonly address: IpBytes | undefined;
  readonly port: number;
}

interface LearnedNetwork {
  readonly bits: number;
  readonly why: string;
}

/**
 * Keeps a cluster's targets from leaving on another route. The guard overrides the default and rules with
 * `any`; a cluster's network also overrides rules for a larger network around it.
 */
export class Guard {
  readonly #rules: readonly RankedRule[];
  readonly #domains: Domains;
  readonly #tables: Tables;

  /** `rules` are those with `<services>` and `<clusterips>`. */
  constructor(rules: readonly RankedRule[], domains: Domains, tables: Tables) {
    this.#rules = rules.filter(({ rule }) => domains.has(rule.transport));
    this.#domains = domains;
    this.#tables = tables;
  }

  /** Returns the route of a target, with the reason if it is held back. */
  checked(asked: Asked, route: Route): Route {
    const pattern = route.rule?.pattern;
    if (pattern === undefined || pattern.kind === "any") return this.#held(asked, route, -1);
    if (pattern.kind !== "network" || pattern.bits === pattern.bytes.length * 8) return route;
    return this.#held(asked, route, pattern.bits);
  }

  /** `around` is the prefix length of the rule's network; -1 if only `any` or the default matches. */
  #held({ name, address, port }: Asked, route: Route, around: number): Route {
    const labels = address ? undefined : clusterLabels(name);
    if (!address && !labels) return route;
    const owners: Owner[] = [];
    for (const ranked of this.#rules) {
      const { rule } = ranked;
      const { transport, pattern } = rule;
      if (pattern.kind !== (address ? "clusterips" : "services")) continue;
      if ((pattern.port ?? port) !== port || transport === route.transport) continue;
      if (owners.some((owner) => owner.transport === transport)) continue;
      const domain = this.#domains.get(transport);
      const owner = address
        ? ownerOfAddress(transport, domain, address, around)
        : ownerOfName(transport, domain, labels ?? []);
      if (!owner) continue;
      if (address && around >= 0 && hasAddress(this.#tables, transport, formatIp(address))) {
        return ranked.route;
      }
      owners.push(owner);
    }
    if (owners.length === 0) return route;
    const sure = owners.filter(({ isSure }) => isSure);
    const [first] = sure.length > 0 ? sure : owners;
    const because = first?.isSure
      ? `belongs to ${first.transport}: ${first.why}`
      : `may belong to ${owners.map(({ transport }) => transport).join(" or ")}: ${first?.why}`;
    return { transport: "reject", because, held: { owners, otherwise: route } };
  }
}

function ownerOfName(
  transport: string,
  domain: FarDomain | undefined,
  labels: readonly string[],
): Owner | undefined {
  if (domain === undefined) {
    return mayBeClusterName(labels) ? { transport, isSure: false, why: unasked } : undefined;
  }
  const owner = (why: string): Owner => ({ transport, isSure: true, why });
  const [first = "", second, third] = labels;
  if (second === undefined) {
    return domain.services.has(first) ? owner(`the cluster has had a Service ${first}`) : undefined;
  }
  const namespace = third ?? second;
  if (domain.namespaces.has(namespace)) return owner(`the cluster has the namespace ${namespace}`);
  const service = third === undefined ? `${first}.${second}` : `${second}.${third}`;
  return domain.services.has(service) ? owner(`the cluster has had a Service ${service}`) : undefined;
}

function ownerOfAddress(
  transport: string,
  domain: FarDomain | undefined,
  address: IpBytes,
  around: number,
): Owner | undefined {
  const learned = domain && learnedAround(domain, address);
  if (learned && learned.bits > around) return { transport, isSure: true, why: learned.why };
  // A rule for a network decides about addresses outside the cluster's networks.
  if (around >= 0) return undefined;
  if (domain?.addresses.has(formatIp(address))) {
    return { transport, isSure: true, why: "one of the cluster's Services or pods had this address" };
  }
  const isUnknown = domain === undefined || !domain.knowsServiceNetwork;
  return isUnknown && mayBeClusterAddress(address) ? { transport, isSure: false, why: unasked } : undefined;
}

const unasked = "postern does not know yet what that cluster owns";

/** Returns the cluster's longest network that contains an address. */
function learnedAround(domain: FarDomain, address: IpBytes): LearnedNetwork | undefined {
  const { fours, sixes } = treesOf(domain);
  let found: LearnedNetwork | undefined;
  let node: NetworkNode<LearnedNetwork> | undefined = (address.length === 4 ? fours : sixes).root;
  for (; node; node = nextNetwork(node, address)) {
    if (!isInside(address, node)) break;
    found = node.value ?? found;
  }
  return found;
}

interface Trees {
  readonly fours: NetworkTree<LearnedNetwork>;
  readonly sixes: NetworkTree<LearnedNetwork>;
}

const trees = new WeakMap<FarDomain, Trees>();

function treesOf(domain: FarDomain): Trees {
  const known = trees.get(domain);
  if (known) return known;
  const made: Trees = { fours: new NetworkTree(4), sixes: new NetworkTree(16) };
  for (const { bytes, bits, holds } of domain.networks) {
    const why = `the cluster's ${holds} are in ${formatIp(bytes)}/${bits}`;
    (bytes.length === 4 ? made.fours : made.sixes).at(bytes, bits).value = { bits, why };
  }
  trees.set(domain, made);
  return made;
}
