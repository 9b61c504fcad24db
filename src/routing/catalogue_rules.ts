import { formatPattern, parsePattern, type Pattern } from "./pattern.ts";
import type { Rule, Tier } from "./rule.ts";
import { type Conflict, conflicts, shadows } from "./rule_report.ts";

/** A domain that a catalogue routes or excludes, as `clusters` finds it. */
export interface RoutedDomain {
  readonly kind: "route" | "exclusion";
  readonly pattern: string;
  readonly catalogue: string;
  /** Absent in what a list says without naming a cluster. */
  readonly cluster?: string;
  readonly fact?: string;
}

export interface CatalogueRulesOptions<D extends RoutedDomain> {
  /** Whom an exclusion counts against: the routes of all clusters, or those of its own. */
  readonly exclusions: "global" | "own";
  /** The transport that a route goes through; what has none is left out. */
  readonly transportOf: (domain: D) => string | undefined;
}

/** The rules of a catalogue, below all that the configuration file says. */
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
 * What a person should know of the rules of all catalogues: where one cluster's facts take something from another's. One
 * line for each exclusion, and for each two clusters that want the same.
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
    const what = `${ignored.text} goes through ${kept.transport} already: ${placeOf(kept)}`;
    lines.push(`${placeOf(ignored)}: ${what}${andMore(more)}`);
  }
  return lines;
}

/** Without the exclusions that say what an earlier one says: a fleet may exclude the same thousands of times. */
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

/** There are tens of thousands of them: what is only said of a few is put together when it is asked for. */
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

  /** Two catalogues may know clusters of the same name. */
  get owner(): string {
    const { catalogue, cluster } = this.#domain;
    return `${catalogue}/${cluster ?? ""}`;
  }
}
