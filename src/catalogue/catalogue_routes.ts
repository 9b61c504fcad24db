import { type Catalogue, type Cluster, type FactWarning, shownText } from "../clusters/mod.ts";
import { FactWarnings } from "./fact_warnings.ts";
import { readDomain } from "./read_domain.ts";

/** The facts that name domains of a cluster, unless `domainFacts` says otherwise. */
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

/** A domain that a catalogue routes, or excludes. */
export interface CatalogueRoute {
  readonly kind: "route" | "exclusion";
  /** As in the routes of the configuration. */
  readonly pattern: string;
  /** The ssh Host that its cluster is behind. */
  readonly jumphost?: string;
  readonly catalogue: string;
  /** Where it comes from; absent in what a mapping says without naming a cluster. */
  readonly cluster?: string;
  readonly fact?: string;
}

/** What a catalogue routes, and what of it could not be used. */
export interface CatalogueRoutes {
  /** Exclusions first, each kind the longest first. */
  readonly routes: readonly CatalogueRoute[];
  readonly warnings: readonly FactWarning[];
}

export interface RoutesOptions {
  /** In the place of the usual ones. */
  readonly domainFacts?: readonly string[];
}

/** A Host as people name them, as a name or an address, perhaps with a user: never an option, never a shell's. */
const hostForm = /^[A-Za-z0-9_[:](?:[A-Za-z0-9._:@[\]-]{0,254})$/;

/** How many bad items of one fact are named. */
const mostNamed = 3;
/** How many items of one fact are looked at: nobody has so many domains, and a door reads them at each start. */
const mostItems = 10_000;

/**
 * The routes of a catalogue. A cluster's `jumphost` (a fact that a person wrote) is the way to `jumphostDomains` and to
 * the hosts of its domain facts, `jumphostSkipDomains` are the exclusions. Without it the cluster routes nothing.
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
        cluster: "of the mapping",
        message: `${shownText(written)} is left out: ${read.problem}`,
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
      const message = `${shownText(suffix)} is left out: ${shownText(jumphost)} is not an ssh Host`;
      warnings.add({ cluster: "of the mapping", message });
    }
  }
  for (const suffix of mapping?.direct ?? []) mapped("exclusion", suffix);
  return { routes: routes.sort(strongestFirst), warnings: warnings.all };
}

/** Of equal length the order of the alphabet: the same facts give the same list. */
function strongestFirst(a: CatalogueRoute, b: CatalogueRoute): number {
  if (a.kind !== b.kind) return a.kind === "exclusion" ? -1 : 1;
  const byLength = b.pattern.length - a.pattern.length;
  if (byLength !== 0 || a.pattern === b.pattern) return byLength;
  return a.pattern < b.pattern ? -1 : 1;
}

/** One cluster's facts as routes. */
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
      // Programs go by what a person wrote down where both are there; what the cluster reports is no less its own.
      add("route", fact, ownFact(facts, fact));
      add("route", fact, ownFact(dynamicFacts, fact));
    }
    return [...routes.values()];
  }

  #jumphost(value: unknown): string | undefined {
    if (isNothing(value)) return undefined;
    const host = typeof value === "string" ? value.trim().replace(/(.)\.$/, "$1") : "";
    if (hostForm.test(host)) return host;
    this.#warn("jumphost", `${shownText(value)} is not an ssh Host: nothing of this cluster is routed`);
    return undefined;
  }

  #domains(fact: string, value: unknown): string[] {
    const domains: string[] = [];
    let bad = 0;
    const items = this.#items(fact, value);
    if (items.length > mostItems) {
      this.#warn(
        fact,
        `${items.length - mostItems} of its ${items.length} items are left out: it has too many`,
      );
    }
    for (const item of items.slice(0, mostItems)) {
      const read = readDomain(item);
      if ("pattern" in read) domains.push(read.pattern);
      else if (++bad <= mostNamed) this.#warn(fact, `${shownText(item)} is left out: ${read.problem}`);
    }
    if (bad > mostNamed) this.#warn(fact, `${bad - mostNamed} more are left out`);
    return domains;
  }

  /** A list of JSON or of commas, semicolons or blanks; empty items are nobody's mistake. */
  #items(fact: string, value: unknown): readonly string[] {
    if (isNothing(value)) return [];
    if (typeof value === "string") return value.split(/[,;\s]+/).filter((item) => item !== "");
    if (Array.isArray(value)) return value.flatMap((item) => this.#items(fact, item));
    this.#warn(fact, `is left out: it must be a text, not ${shownText(value)}`);
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
