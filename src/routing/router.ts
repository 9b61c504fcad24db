import { type IpBytes, isUnspecified, type Target } from "../words/mod.ts";
import { explain, type Explanation } from "./explanation.ts";
import { type Domains, Guard, type Held } from "./guard.ts";
import { addressOf, comparableHost, loopbackOf, otherLoopbackOf } from "./host.ts";
import type { Rule, Tables } from "./rule.ts";
import { RankedRule, RuleIndex } from "./rule_index.ts";

/** The transport of a target, and why. */
export interface Route {
  readonly transport: string;
  /** For logs and messages: `rule "c-lab-1.example.net" (postern.yaml:14)`, or `default`. */
  readonly because: string;
  /** Absent when the default decided. */
  readonly rule?: Rule;
  /** Set when a cluster owns the target or may own it, but no table has it: postern rejects it. */
  readonly held?: Held;
}

export interface RouterOptions {
  /** In the order of their sources: of equal rules, the first one counts. */
  readonly rules: readonly Rule[];
  /** The transport for targets without a matching rule (default: `direct`). */
  readonly fallback?: string;
  readonly tables?: Tables;
  /**
   * The learned facts about clusters whose targets must not take another route; without it, none are guarded.
   */
  readonly domains?: Domains;
  /** The transports that reject every target (default: `reject`). */
  readonly rejecting?: ReadonlySet<string>;
}

/** Maps targets to routes without side effects; never resolves a name. */
export class Router {
  readonly rules: readonly Rule[];
  readonly fallback: string;
  readonly tables: Tables;
  readonly domains: Domains;
  readonly rejecting: ReadonlySet<string>;
  readonly #indexes: Indexes;
  readonly #default: Route;
  readonly #guard: Guard | undefined;

  constructor(options: RouterOptions, indexes: Indexes = indexesOf(options.rules)) {
    this.rules = options.rules;
    this.fallback = options.fallback ?? "direct";
    this.tables = options.tables ?? new Map();
    this.domains = options.domains ?? new Map();
    this.rejecting = options.rejecting ?? onlyReject;
    this.#indexes = indexes;
    this.#default = { transport: this.fallback, because: "default" };
    this.#guard = this.domains.size === 0
      ? undefined
      : new Guard(indexes.withTables, this.domains, this.tables);
  }

  /**
   * Returns a router with the same rules and other tables; cheap, so that it can follow every change in a
   * cluster.
   */
  withTables(tables: Tables, domains: Domains = this.domains): Router {
    const { rules, fallback, rejecting } = this;
    return new Router({ rules, fallback, tables, domains, rejecting }, this.#indexes);
  }

  /** Returns the route of one connection. */
  route({ host, port }: Target): Route {
    const name = comparableHost(host);
    const address = addressOf(name);
    const best = address
      ? this.#forAddress(address, port)
      : this.#strongest((index) => index.findName(name, port, this.tables));
    const route = best === undefined ? this.#default : best.route;
    return this.#guard === undefined ? route : this.#guard.checked({ name, address, port }, route);
  }

  /**
   * Returns the route with the rules that match but lost; examines every rule, so use it for interactive
   * output only.
   */
  explain(target: Target, route?: Route): Explanation {
    return explain(target, this, route);
  }

  /**
   * Finds the rule for an address. A connection to an unspecified address reaches loopback, so rules for the
   * loopback address of its family apply too. Some programs then use the other family (Go tries 0.0.0.0 for
   * ::), so a rule that rejects that loopback wins.
   */
  #forAddress(address: IpBytes, port: number): RankedRule | undefined {
    const find = (bytes: IpBytes) => this.#strongest((index) => index.findAddress(bytes, port, this.tables));
    const own = find(address);
    if (address[0] !== 0 || !isUnspecified(address)) return own;
    const loopback = find(loopbackOf(address));
    const best = loopback && (!own || loopback.rank > own.rank) ? loopback : own;
    if (this.rejecting.has(best?.rule.transport ?? this.fallback)) return best;
    const other = find(otherLoopbackOf(address));
    const isBarred = other?.rule.pattern.kind === "network" && this.rejecting.has(other.rule.transport);
    return isBarred ? other : best;
  }

  #strongest(find: (index: RuleIndex) => RankedRule | undefined): RankedRule | undefined {
    const { shared, confined } = this.#indexes;
    const best = find(shared);
    const owner = best?.rule.tier === "catalogue" ? best.rule.owner : undefined;
    const own = owner === undefined ? undefined : confined?.get(owner);
    return (own && find(own)) ?? best;
  }
}

const onlyReject: ReadonlySet<string> = new Set(["reject"]);

interface Indexes {
  readonly shared: RuleIndex;
  /** Exclusions that affect only routes of the same cluster. */
  readonly confined: ReadonlyMap<string, RuleIndex> | undefined;
  /** The rules that use the table of a cluster. */
  readonly withTables: readonly RankedRule[];
}

function indexesOf(rules: readonly Rule[]): Indexes {
  const shared = new RuleIndex();
  const confined = new Map<string, RuleIndex>();
  for (const rule of rules) {
    if (!rule.confined || rule.owner === undefined) {
      shared.add(rule);
      continue;
    }
    let own = confined.get(rule.owner);
    if (!own) confined.set(rule.owner, own = new RuleIndex());
    own.add(rule);
  }
  const withTables = rules
    .filter(({ pattern: { kind } }) => kind === "services" || kind === "clusterips")
    .map((rule) => new RankedRule(rule));
  return { shared, confined: confined.size > 0 ? confined : undefined, withTables };
}
