import { formatIp, type IpBytes } from "../core/mod.ts";
import { type NetworkNode, NetworkTree, nextNetwork } from "./network_tree.ts";
import { labelCount, type Rule, ruleRank, type Tables } from "./rule.ts";

/** A rule with what a lookup needs of it worked out. */
export interface RankedRule {
  readonly rule: Rule;
  readonly rank: number;
}

/**
 * Finds the strongest rule for a target. A name costs one look per label (at most as many as the deepest rule
 * has), an address one per network around it: neither grows with the number of rules.
 */
export class RuleIndex {
  readonly #names = new Map<string, Slot>();
  readonly #fours = new NetworkTree<Slot>(4);
  readonly #sixes = new NetworkTree<Slot>(16);
  readonly #any = new Slot();
  readonly #local = new Slot();
  readonly #services = new Slot();
  readonly #clusterIps = new Slot();
  #deepest = 0;

  /** Where an equal rule is there already, that one stays. */
  add(rule: Rule): void {
    this.#slotFor(rule).add({ rule, rank: ruleRank(rule) });
  }

  /** The strongest rule for a comparable name. */
  findName(name: string, port: number, tables: Tables): RankedRule | undefined {
    let best = this.#any.best(port, undefined);
    let dot = name.length;
    for (let depth = 0; depth < this.#deepest && dot >= 0; depth++) {
      dot = dot === 0 ? -1 : name.lastIndexOf(".", dot - 1);
      const slot = this.#names.get(dot < 0 ? name : name.slice(dot + 1));
      if (slot) best = slot.bestName(port, dot < 0, best);
    }
    const firstDot = name.indexOf(".");
    if (firstDot < 0) best = this.#local.best(port, best);
    if (!this.#services.isEmpty && (firstDot < 0 || name.indexOf(".", firstDot + 1) < 0)) {
      best = this.#services.bestWhere(port, best, ({ transport }) => hasService(tables, transport, name));
    }
    return best;
  }

  /** The strongest rule for an address. */
  findAddress(bytes: IpBytes, port: number, tables: Tables): RankedRule | undefined {
    let best = this.#any.best(port, undefined);
    const tree = bytes.length === 4 ? this.#fours : this.#sixes;
    for (let node: NetworkNode<Slot> | undefined = tree.root; node; node = nextNetwork(node, bytes)) {
      if (node.value) best = node.value.best(port, best);
    }
    if (!this.#clusterIps.isEmpty) {
      const text = formatIp(bytes);
      best = this.#clusterIps.bestWhere(port, best, ({ transport }) => hasAddress(tables, transport, text));
    }
    return best;
  }

  #slotFor({ pattern }: Rule): Slot {
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
      case "name": {
        const slot = this.#names.get(pattern.name);
        if (slot) return slot;
        const fresh = new Slot();
        this.#names.set(pattern.name, fresh);
        this.#deepest = Math.max(this.#deepest, labelCount(pattern.name));
        return fresh;
      }
    }
  }
}

/** Whether a name is a Service in the table of a transport. */
export function hasService(tables: Tables, transport: string, name: string): boolean {
  return tables.get(transport)?.services.has(name) ?? false;
}

/** Whether an address in canonical form is in the table of a transport. */
export function hasAddress(tables: Tables, transport: string, address: string): boolean {
  return tables.get(transport)?.addresses.has(address) ?? false;
}

/** The rules of one place: few without a port, and those with one under it. */
class Slot {
  #plain: readonly RankedRule[] = none;
  #ports: Map<number, readonly RankedRule[]> | undefined;

  get isEmpty(): boolean {
    return this.#plain.length === 0 && this.#ports === undefined;
  }

  add(ranked: RankedRule): void {
    const { port } = ranked.rule.pattern;
    if (port === undefined) {
      this.#plain = withRule(this.#plain, ranked);
    } else {
      this.#ports ??= new Map();
      this.#ports.set(port, withRule(this.#ports.get(port) ?? none, ranked));
    }
  }

  best(port: number, best: RankedRule | undefined): RankedRule | undefined {
    const better = strongest(this.#plain, best);
    return this.#ports === undefined ? better : strongest(this.#ports.get(port) ?? none, better);
  }

  bestName(port: number, isWhole: boolean, best: RankedRule | undefined): RankedRule | undefined {
    const better = strongestName(this.#plain, isWhole, best);
    return this.#ports === undefined ? better : strongestName(this.#ports.get(port) ?? none, isWhole, better);
  }

  bestWhere(port: number, best: RankedRule | undefined, holds: (rule: Rule) => boolean) {
    let found = best;
    for (const list of [this.#plain, this.#ports?.get(port) ?? none]) {
      for (const ranked of list) {
        if (ranked.rank > (found?.rank ?? -1) && holds(ranked.rule)) found = ranked;
      }
    }
    return found;
  }
}

const none: readonly RankedRule[] = [];

/** Equal ranks in one place mean equal patterns; only tables differ by their transport. */
function withRule(list: readonly RankedRule[], ranked: RankedRule): readonly RankedRule[] {
  const { kind } = ranked.rule.pattern;
  const isTable = kind === "services" || kind === "clusterips";
  const isKnown = list.some((other) =>
    other.rank === ranked.rank && (!isTable || other.rule.transport === ranked.rule.transport)
  );
  return isKnown ? list : [...list, ranked];
}

function strongest(list: readonly RankedRule[], best: RankedRule | undefined): RankedRule | undefined {
  let found = best;
  for (const ranked of list) if (found === undefined || ranked.rank > found.rank) found = ranked;
  return found;
}

function strongestName(list: readonly RankedRule[], isWhole: boolean, best: RankedRule | undefined) {
  let found = best;
  for (const ranked of list) {
    const { pattern } = ranked.rule;
    if (
      pattern.kind !== "name" || (pattern.scope === "exact" ? !isWhole : pattern.scope === "below" && isWhole)
    ) {
      continue;
    }
    if (found === undefined || ranked.rank > found.rank) found = ranked;
  }
  return found;
}
