import type { Pattern } from "./pattern.ts";

/**
 * Where a rule stands, the strongest first: `direct` and `routes` of the file, then exclusions and routes of
 * the catalogues.
 */
export type Tier = "direct" | "routes" | "exclusions" | "catalogue";

/** One line of the rules: what it matches, where that goes, and who said so. */
export interface Rule {
  /** As its author wrote it. */
  readonly text: string;
  readonly pattern: Pattern;
  readonly transport: string;
  /** `postern.yaml:12`, or `catalogue main: cluster c-x fact y`. */
  readonly source: string;
  /** The same with the whole path and the column, for a problem's line: `/etc/postern.yaml:12:9`. */
  readonly place?: string | undefined;
  readonly tier: Tier;
  /** The cluster that a rule of a catalogue belongs to. */
  readonly owner?: string;
  /** An exclusion (`exclusions: own`) that counts only where a route of its own cluster would win. */
  readonly confined?: boolean;
}

/** What a cluster has right now; a transport hands it over after every change. */
export interface ClusterContents {
  /** `web` for the route's own namespace, `web.shop` for any. Lower case. */
  readonly services: ReadonlySet<string>;
  /** Service and pod addresses in canonical form. */
  readonly addresses: ReadonlySet<string>;
}

/** The tables by the name of their transport. */
export type Tables = ReadonlyMap<string, ClusterContents>;

const tierWeights: Record<Tier, number> = { direct: 3, routes: 2, exclusions: 1, catalogue: 0 };

/** Ranks of the kinds of pattern inside a tier; networks and names never meet, so they share the scale. */
export const rankOf = { any: 0, local: 2, suffix: 8, table: 900, exact: 1000, tier: 4096 } as const;

/**
 * Of all rules that match a target the one of the highest rank wins. Tier first, then: exact, a table's entry
 * (which is an exact name that nobody wrote), the longest suffix or prefix, `<local>`, `any`. A port decides
 * only between equal lengths; what lies below a name is narrower than the name with all below it.
 */
export function ruleRank({ tier, pattern }: Rule): number {
  return tierWeights[tier] * rankOf.tier + patternRank(pattern);
}

/** The part of a rule's rank that its pattern decides. */
function patternRank(pattern: Pattern): number {
  const port = pattern.port === undefined ? 0 : 1;
  switch (pattern.kind) {
    case "any":
      return rankOf.any + port;
    case "local":
      return rankOf.local + port;
    case "services":
    case "clusterips":
      return rankOf.table + port;
    case "network":
      return pattern.bits === pattern.bytes.length * 8
        ? rankOf.exact + port
        : rankOf.suffix + pattern.bits * 2 + port;
    case "name":
      if (pattern.scope === "exact") return rankOf.exact + port;
      return rankOf.suffix + labelCount(pattern.name) * 4 + port * 2 + (pattern.scope === "below" ? 1 : 0);
  }
}

/** How many labels a name has. */
export function labelCount(name: string): number {
  let count = 1;
  for (let at = name.indexOf("."); at >= 0; at = name.indexOf(".", at + 1)) count++;
  return count;
}

/** How logs and `explain` name a rule. */
export function describeRule({ text, source, tier }: Rule): string {
  const word = tier === "direct" || tier === "exclusions" ? "exclusion" : "rule";
  return `${word} "${text}" (${source})`;
}
