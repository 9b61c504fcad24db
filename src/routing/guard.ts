import type { FarDomain } from "../core/mod.ts";
import { formatIp, type IpBytes } from "../words/mod.ts";
import { clusterLabels, mayBeClusterAddress, mayBeClusterName } from "./first_contact.ts";
import { isInside, type NetworkNode, NetworkTree, nextNetwork } from "./network_tree.ts";
import type { Route } from "./router.ts";
import { hasAddress, type RankedRule } from "./rule_index.ts";
import type { Tables } from "./rule.ts";

/** What is learned of the clusters that rules with tables lead to, by transport; nothing, where it is undefined. */
export type Domains = ReadonlyMap<string, FarDomain | undefined>;

/** A cluster that a target belongs to, or may belong to. */
export interface Owner {
  readonly transport: string;
  /** False where nothing is learned of the cluster that would tell. */
  readonly isSure: boolean;
  /** What makes the target the cluster's: `its Services are in 10.96.0.0/16`. */
  readonly why: string;
}

/** Why a target goes nowhere else, though no table has it. */
export interface Held {
  readonly owners: readonly Owner[];
  /** Where it would go if no cluster owned it. */
  readonly otherwise: Route;
}

/** What the guard is asked about: a comparable name, or an address. */
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
 * Keeps what a cluster owns from going elsewhere. It stands before the default and rules with `any`; a network that a
 * cluster owns also stands before rules for a larger network around it.
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

  /** The route of a target, with what holds it. */
  checked(asked: Asked, route: Route): Route {
    const pattern = route.rule?.pattern;
    if (pattern === undefined || pattern.kind === "any") return this.#held(asked, route, -1);
    if (pattern.kind !== "network" || pattern.bits === pattern.bytes.length * 8) return route;
    return this.#held(asked, route, pattern.bits);
  }

  /** `around` is the length of the rule's network; -1 where no rule names the target. */
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
    return domain.services.has(first) ? owner(`it has had a Service ${first}`) : undefined;
  }
  const namespace = third ?? second;
  if (domain.namespaces.has(namespace)) return owner(`it has the namespace ${namespace}`);
  const service = third === undefined ? `${first}.${second}` : `${second}.${third}`;
  return domain.services.has(service) ? owner(`it has had a Service ${service}`) : undefined;
}

function ownerOfAddress(
  transport: string,
  domain: FarDomain | undefined,
  address: IpBytes,
  around: number,
): Owner | undefined {
  const learned = domain && learnedAround(domain, address);
  if (learned && learned.bits > around) return { transport, isSure: true, why: learned.why };
  // A rule for a network decides about addresses that no network of the cluster holds.
  if (around >= 0) return undefined;
  if (domain?.addresses.has(formatIp(address))) {
    return { transport, isSure: true, why: "one of its Services or pods had this address" };
  }
  const isUnknown = domain === undefined || !domain.knowsServiceNetwork;
  return isUnknown && mayBeClusterAddress(address) ? { transport, isSure: false, why: unasked } : undefined;
}

const unasked = "postern does not know yet what that cluster owns";

/** The longest network of a cluster that an address is in. */
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
    const why = `its ${holds} are in ${formatIp(bytes)}/${bits}`;
    (bytes.length === 4 ? made.fours : made.sixes).at(bytes, bits).value = { bits, why };
  }
  trees.set(domain, made);
  return made;
}
