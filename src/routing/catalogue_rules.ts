import { formatPattern, parsePattern, type Pattern } from "./pattern.ts";
import type { Rule, Tier } from "./rule.ts";
import { type Conflict, conflicts, shadows } from "./rule_report.ts";

/** A domain that a catalogue routes or excludes, as `clusters` reads it. */
export interface RoutedDomain {
  readonly kind: "route" | "exclusion";
  readonly pattern: string;
  readonly catalogue: string;
  /** Absent for entries of a list that name no cluster. */
  readonly cluster?: string;
  readonly fact?: string;
}

export interface CatalogueRulesOptions<D extends RoutedDomain> {
  /** Whether an exclusion affects the routes of all clusters, or only of the cluster that defines it. */
  readonly exclusions: "global" | "own";
  /** Returns the transport of a route; a domain without one is skipped. */
  readonly transportOf: (domain: D) => string | undefined;
}

/** Builds the rules of a catalogue; all rules of the configuration file override them. */
export function catalogueRules<D extends RoutedDomain>(
  domains: readonly D[],
  { exclusions, transportOf }: CatalogueRulesOptions<D>,
): Rule[] {
  const rules: Rule[] = [];
  for (const domain of domains) {
    const transport = domain.kind === "exclusion" ? "direct" : transportOf(domain);
    const parsed = parsePattern(domain.pattern);
    if (transport === undefined || "problem" in parsed) continue;
    const confined = domain.kind === "exclusion" && exclusions === "own";
    rules.push(new CatalogueRule(domain, { pattern: parsed.pattern, transport, confined }));
  }
  return rules;
}

/**
 * Returns notes about conflicts between clusters of all catalogues, where one cluster's facts affect
 * another's targets. One line per exclusion, and per pair of clusters that route the same name.
 */
export function catalogueNotes(rules: readonly Rule[]): string[] {
  const taken = new Map<Rule, Rule[]>();
  for (const { exclusion, route } of shadows(decisive(rules))) gather(taken, exclusion, route);
  const wanted = new Map<string, Conflict[]>();
  for (const conflict of conflicts(rules.filter(({ tier }) => tier === "catalogue"))) {
    gather(wanted, `${conflict.kept.owner} ${conflict.ignored.owner}`, conflict);
  }
  const lines: string[] = [];
  for (const [exclusion, [route, ...more]] of taken) {
    if (!route) continue;
    const what = `takes ${route.text} from ${placeOf(route)}`;
    lines.push(`${placeOf(exclusion)}: the exclusion ${exclusion.text} ${what}${andMore(more)}`);
  }
  for (const [conflict, ...more] of wanted.values()) {
    if (!conflict) continue;
    const { kept, ignored } = conflict;
    const what = `${ignored.text} is already routed to ${kept.transport}: ${placeOf(kept)}`;
    lines.push(`${placeOf(ignored)}: ${what}${andMore(more)}`);
  }
  return lines;
}

/** Removes exclusions that an earlier one repeats: a fleet may exclude the same domain thousands of times. */
function decisive(rules: readonly Rule[]): Rule[] {
  const known = new Set<string>();
  return rules.filter(({ tier, confined, pattern }) => {
    if (tier !== "exclusions" || confined) return tier === "catalogue";
    const text = formatPattern(pattern);
    if (known.has(text)) return false;
    known.add(text);
    return true;
  });
}

function gather<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

function andMore(more: readonly unknown[]): string {
  return more.length === 0 ? "" : `, and ${more.length} more like this`;
}

function placeOf({ source }: Rule): string {
  return source.replace(/^catalogue /, "");
}

/** A catalogue has tens of thousands of rules, so texts that few of them need are built on demand. */
class CatalogueRule implements Rule {
  readonly pattern: Pattern;
  readonly transport: string;
  readonly tier: Tier;
  readonly confined: boolean;
  readonly #domain: RoutedDomain;

  constructor(
    domain: RoutedDomain,
    { pattern, transport, confined }: Pick<Rule, "pattern" | "transport"> & { readonly confined: boolean },
  ) {
    this.#domain = domain;
    this.pattern = pattern;
    this.transport = transport;
    this.tier = domain.kind === "exclusion" ? "exclusions" : "catalogue";
    this.confined = confined;
  }

  get text(): string {
    return this.#domain.pattern;
  }

  get source(): string {
    const { catalogue, cluster, fact } = this.#domain;
    return `catalogue ${catalogue}: ${cluster === undefined ? "mapping" : `cluster ${cluster} fact ${fact}`}`;
  }

  /** Includes the catalogue: two catalogues may have clusters of the same name. */
  get owner(): string {
    const { catalogue, cluster } = this.#domain;
    return `${catalogue}/${cluster ?? ""}`;
  }
}
