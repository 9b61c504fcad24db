import { formatIp, type IpBytes } from "../words/mod.ts";
import { isInside, type NetworkNode, NetworkTree, nextNetwork } from "./network_tree.ts";
import type { Route } from "./router.ts";
import type { NamePattern, Pattern } from "./pattern.ts";
import { describeRule, labelCount, type Rule, ruleRank, type Tables } from "./rule.ts";
import { nextHash, seed, SuffixTable } from "./suffix_table.ts";

/**
 * A rule with everything that a lookup needs in one object: in a large index, each further object is a cache
 * miss.
 */
export class RankedRule {
  readonly rule: Rule;
  readonly rank: number;
  /** How the name must match: `exact` rules match only the whole host, `below` rules never do. */
  readonly scope: NamePattern["scope"];
  /** The next rule for the same name or network. */
  next: RankedRule | undefined;
  #route: Route | undefined;

  constructor(rule: Rule) {
    this.rule = rule;
    this.rank = ruleRank(rule);
    this.scope = rule.pattern.kind === "name" ? rule.pattern.scope : "tree";
  }

  /** The router's decision when this rule wins; always the same object. */
  get route(): Route {
    const { rule } = this;
    return this.#route ??= { transport: rule.transport, because: describeRule(rule), rule };
  }
}

const dot = 46;

/**
 * Finds the strongest rule for a target. A lookup of a name takes one step per label, at most as many as the
 * deepest rule has. A lookup of an address takes one step per network around it. Neither depends on the
 * number of rules.
 */
export class RuleIndex {
  readonly #names = new SuffixTable<RankedRule>();
  readonly #namesWithPort = new SuffixTable<Map<number, RankedRule>>();
  readonly #fours = new NetworkTree<Slot>(4);
  readonly #sixes = new NetworkTree<Slot>(16);
  readonly #any = new Slot();
  readonly #local = new Slot();
  readonly #services = new Slot();
  readonly #clusterIps = new Slot();
  #deepest = 0;

  /** Adds a rule; an equal one that is already there stays. */
  add(rule: Rule): void {
    const ranked = new RankedRule(rule);
    if (rule.pattern.kind === "name") this.#addName(rule.pattern, ranked);
    else this.#slotFor(rule.pattern).add(ranked);
  }

  /** Returns the strongest rule for a comparable name. */
  findName(name: string, port: number, tables: Tables): RankedRule | undefined {
    let best = this.#any.best(port, undefined);
    let hash = seed;
    for (let at = name.length - 1, depth = 0; at >= 0; at--) {
      hash = nextHash(hash, name.charCodeAt(at));
      if (at > 0 && name.charCodeAt(at - 1) !== dot) continue;
      const barred = at === 0 ? "below" : "exact";
      best = strongestName(this.#names.find(name, at, hash), barred, best);
      if (!this.#namesWithPort.isEmpty) {
        best = strongestName(this.#namesWithPort.find(name, at, hash)?.get(port), barred, best);
      }
      if (++depth === this.#deepest) break;
    }
    const firstDot = name.indexOf(".");
    if (firstDot < 0) best = this.#local.best(port, best);
    if (!this.#services.isEmpty && (firstDot < 0 || name.indexOf(".", firstDot + 1) < 0)) {
      best = this.#services.bestWhere(port, best, ({ transport }) => hasService(tables, transport, name));
    }
    return best;
  }

  /** Returns the strongest rule for an address. */
  findAddress(bytes: IpBytes, port: number, tables: Tables): RankedRule | undefined {
    let best = this.#any.best(port, undefined);
    const tree = bytes.length === 4 ? this.#fours : this.#sixes;
    for (let node: NetworkNode<Slot> | undefined = tree.root; node; node = nextNetwork(node, bytes)) {
      if (!node.value) continue;
      if (!isInside(bytes, node)) break;
      best = node.value.best(port, best);
    }
    if (!this.#clusterIps.isEmpty) {
      const text = formatIp(bytes);
      best = this.#clusterIps.bestWhere(port, best, ({ transport }) => hasAddress(tables, transport, text));
    }
    return best;
  }

  #addName({ name, port }: NamePattern, ranked: RankedRule): void {
    this.#deepest = Math.max(this.#deepest, labelCount(name));
    if (port === undefined) {
      const first = this.#names.at(name, () => ranked);
      if (first !== ranked) appended(first, ranked);
    } else {
      const ports = this.#namesWithPort.at(name, () => new Map());
      ports.set(port, appended(ports.get(port), ranked));
    }
  }

  #slotFor(pattern: Exclude<Pattern, NamePattern>): Slot {
    switch (pattern.kind) {
      case "any":
        return this.#any;
      case "local":
        return this.#local;
      case "services":
        return this.#services;
      case "clusterips":
        return this.#clusterIps;
      case "network": {
        const tree = pattern.bytes.length === 4 ? this.#fours : this.#sixes;
        return tree.at(pattern.bytes, pattern.bits).value ??= new Slot();
      }
    }
  }
}

export function hasService(tables: Tables, transport: string, name: string): boolean {
  return tables.get(transport)?.services.has(name) ?? false;
}

/** Whether the table of a transport has an address in canonical form. */
export function hasAddress(tables: Tables, transport: string, address: string): boolean {
  return tables.get(transport)?.addresses.has(address) ?? false;
}

/** The rules of one network or special pattern: a few without a port, and a map of those with one. */
class Slot {
  #plain: RankedRule | undefined;
  #ports: Map<number, RankedRule> | undefined;

  get isEmpty(): boolean {
    return this.#plain === undefined && this.#ports === undefined;
  }

  add(ranked: RankedRule): void {
    const { port } = ranked.rule.pattern;
    if (port === undefined) {
      this.#plain = appended(this.#plain, ranked);
    } else {
      this.#ports ??= new Map();
      this.#ports.set(port, appended(this.#ports.get(port), ranked));
    }
  }

  best(port: number, best: RankedRule | undefined): RankedRule | undefined {
    const better = strongest(this.#plain, best);
    return this.#ports === undefined ? better : strongest(this.#ports.get(port), better);
  }

  bestWhere(port: number, best: RankedRule | undefined, holds: (rule: Rule) => boolean) {
    let found = best;
    for (const first of [this.#plain, this.#ports?.get(port)]) {
      for (let ranked = first; ranked; ranked = ranked.next) {
        if ((found === undefined || ranked.rank > found.rank) && holds(ranked.rule)) found = ranked;
      }
    }
    return found;
  }
}

/** Appends a rule to the chain, unless it contains an equal one: the earlier one stays. */
function appended(first: RankedRule | undefined, ranked: RankedRule): RankedRule {
  if (first === undefined) return ranked;
  const { kind } = ranked.rule.pattern;
  // In one place, equal ranks mean equal patterns; only tables can differ by their transport.
  const isTable = kind === "services" || kind === "clusterips";
  let last = first;
  for (let other: RankedRule | undefined = first; other; other = other.next) {
    if (other.rank === ranked.rank && (!isTable || other.rule.transport === ranked.rule.transport)) {
      return first;
    }
    last = other;
  }
  last.next = ranked;
  return first;
}

function strongest(first: RankedRule | undefined, best: RankedRule | undefined): RankedRule | undefined {
  let found = best;
  for (let ranked = first; ranked; ranked = ranked.next) {
    if (found === undefined || ranked.rank > found.rank) found = ranked;
  }
  return found;
}

function strongestName(
  first: RankedRule | undefined,
  barred: "below" | "exact",
  best: RankedRule | undefined,
) {
  let found = best;
  for (let ranked = first; ranked; ranked = ranked.next) {
    if (ranked.scope !== barred && (found === undefined || ranked.rank > found.rank)) found = ranked;
  }
  return found;
}
