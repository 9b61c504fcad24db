import { type Catalogue, type Cluster, type FactWarning, shownText } from "../clusters/mod.ts";
import { FactWarnings } from "./fact_warnings.ts";
import { readDomain } from "./read_domain.ts";

/** The default for `domainFacts`: facts that contain domains of a cluster. */
export const usualDomainFacts: readonly string[] = [
  "openshiftBaseDomain",
  "openshiftAppsDomain",
  "openshiftApiURL",
  "openshiftConsoleURL",
  "openshiftOAuthRoute",
  "talosApiURL",
  "talosBaseDomain",
  "talosAppsDomain",
];

/** A domain that a catalogue routes or excludes. */
export interface CatalogueRoute {
  readonly kind: "route" | "exclusion";
  /** A pattern as in the routes of the configuration. */
  readonly pattern: string;
  /** The ssh Host through which the cluster is reached. */
  readonly jumphost?: string;
  readonly catalogue: string;
  /** The cluster of the route; absent for routes from a mapping, which names no clusters. */
  readonly cluster?: string;
  readonly fact?: string;
}

/** The routes of a catalogue, with warnings about facts that could not be used. */
export interface CatalogueRoutes {
  /** Exclusions first; within each kind, the longest pattern first. */
  readonly routes: readonly CatalogueRoute[];
  readonly warnings: readonly FactWarning[];
}

export interface RoutesOptions {
  /** Replaces the default facts. */
  readonly domainFacts?: readonly string[];
}

/** An ssh Host: a name or an address, optionally with a user. Excludes options and shell characters. */
const hostForm = /^[A-Za-z0-9_[:](?:[A-Za-z0-9._:@[\]-]{0,254})$/;

/** How many invalid items of one fact are listed. */
const mostNamed = 3;
/**
 * How many items of one fact are read: real clusters have fewer domains, and an instance reads them at each
 * start.
 */
const mostItems = 10_000;

/**
 * Builds the routes of a catalogue. The fact `jumphost` of a cluster names the jump host for
 * `jumphostDomains` and for the hosts in its domain facts; `jumphostSkipDomains` are exclusions. A cluster
 * without `jumphost` gets no routes.
 */
export function routesOf(
  { name, clusters, mapping }: Catalogue,
  { domainFacts = usualDomainFacts }: RoutesOptions = {},
): CatalogueRoutes {
  const routes: CatalogueRoute[] = [];
  const warnings = new FactWarnings();
  for (const cluster of clusters) {
    const reader = new FactReader(cluster, name, warnings);
    for (const route of reader.routes(domainFacts)) routes.push(route);
  }
  const known = new Set(routes.map(({ kind, pattern }) => `${kind} ${pattern}`));
  const mapped = (kind: CatalogueRoute["kind"], written: string, jumphost?: string) => {
    const read = readDomain(written);
    if ("problem" in read) {
      warnings.add({
        cluster: "(mapping)",
        message: `${shownText(written)} is ignored: ${read.problem}`,
      });
    } else if (!known.has(`${kind} ${read.pattern}`)) {
      routes.push({
        kind,
        pattern: read.pattern,
        ...(jumphost !== undefined && { jumphost }),
        catalogue: name,
      });
    }
  };
  for (const [suffix, jumphost] of Object.entries(mapping?.jumphosts ?? {})) {
    if (hostForm.test(jumphost)) mapped("route", suffix, jumphost);
    else {
      const message = `${shownText(suffix)} is ignored: ${shownText(jumphost)} is not an ssh Host`;
      warnings.add({ cluster: "(mapping)", message });
    }
  }
  for (const suffix of mapping?.direct ?? []) mapped("exclusion", suffix);
  return { routes: routes.sort(strongestFirst), warnings: warnings.all };
}

/** Patterns of equal length are in alphabetical order, so the same facts produce the same list. */
function strongestFirst(a: CatalogueRoute, b: CatalogueRoute): number {
  if (a.kind !== b.kind) return a.kind === "exclusion" ? -1 : 1;
  const byLength = b.pattern.length - a.pattern.length;
  if (byLength !== 0 || a.pattern === b.pattern) return byLength;
  return a.pattern < b.pattern ? -1 : 1;
}

/** Converts one cluster's facts into routes. */
class FactReader {
  readonly #cluster: Cluster;
  readonly #catalogue: string;
  readonly #warnings: FactWarnings;

  constructor(cluster: Cluster, catalogue: string, warnings: FactWarnings) {
    this.#cluster = cluster;
    this.#catalogue = catalogue;
    this.#warnings = warnings;
  }

  routes(domainFacts: readonly string[]): readonly CatalogueRoute[] {
    const { facts, dynamicFacts } = this.#cluster;
    const jumphost = this.#jumphost(ownFact(facts, "jumphost"));
    if (jumphost === undefined) return [];
    const routes = new Map<string, CatalogueRoute>();
    const add = (kind: CatalogueRoute["kind"], fact: string, value: unknown) => {
      for (const pattern of this.#domains(fact, value)) {
        const key = `${kind} ${pattern}`;
        if (routes.has(key)) continue;
        const { id } = this.#cluster;
        routes.set(key, { kind, pattern, jumphost, catalogue: this.#catalogue, cluster: id, fact });
      }
    };
    add("exclusion", "jumphostSkipDomains", ownFact(facts, "jumphostSkipDomains"));
    add("route", "jumphostDomains", ownFact(facts, "jumphostDomains"));
    for (const fact of domainFacts) {
      // Other programs prefer the static fact; here both count, because the reported hosts belong to the
      // cluster too.
      add("route", fact, ownFact(facts, fact));
      add("route", fact, ownFact(dynamicFacts, fact));
    }
    return [...routes.values()];
  }

  #jumphost(value: unknown): string | undefined {
    if (isNothing(value)) return undefined;
    const host = typeof value === "string" ? value.trim().replace(/(.)\.$/, "$1") : "";
    if (hostForm.test(host)) return host;
    this.#warn("jumphost", `${shownText(value)} is not an ssh Host: the cluster gets no routes`);
    return undefined;
  }

  #domains(fact: string, value: unknown): string[] {
    const domains: string[] = [];
    let bad = 0;
    const items = this.#items(fact, value);
    if (items.length > mostItems) {
      this.#warn(
        fact,
        `${items.length - mostItems} of its ${items.length} items are ignored: the limit is ${mostItems}`,
      );
    }
    for (const item of items.slice(0, mostItems)) {
      const read = readDomain(item);
      if ("pattern" in read) domains.push(read.pattern);
      else if (++bad <= mostNamed) this.#warn(fact, `${shownText(item)} is ignored: ${read.problem}`);
    }
    if (bad > mostNamed) this.#warn(fact, `${bad - mostNamed} more are ignored`);
    return domains;
  }

  /** The items of a JSON list, or of a text separated by commas, semicolons or blanks; skips empty items. */
  #items(fact: string, value: unknown): readonly string[] {
    if (isNothing(value)) return [];
    if (typeof value === "string") return value.split(/[,;\s]+/).filter((item) => item !== "");
    if (Array.isArray(value)) return value.flatMap((item) => this.#items(fact, item));
    this.#warn(fact, `ignored because it must be a string, not ${shownText(value)}`);
    return [];
  }

  #warn(fact: string, message: string): void {
    this.#warnings.add({ cluster: this.#cluster.id, fact, message });
  }
}

function ownFact(facts: Cluster["facts"], name: string): unknown {
  return Object.hasOwn(facts, name) ? facts[name] : undefined;
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === "string" && value.trim() === "");
}
