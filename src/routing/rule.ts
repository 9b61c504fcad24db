import type { Pattern } from "./pattern.ts";

/**
 * The precedence of a rule, strongest first: `direct` and `routes` of the file, then exclusions and routes of
 * the catalogues.
 */
export type Tier = "direct" | "routes" | "exclusions" | "catalogue";

/** A rule: what it matches, the transport, and its source. */
export interface Rule {
  /** As written in the source. */
  readonly text: string;
  readonly pattern: Pattern;
  readonly transport: string;
  /** `postern.yaml:12`, or `catalogue main: cluster c-x fact y`. */
  readonly source: string;
  /** The source with its full path and column, for problems: `/etc/postern.yaml:12:9`. */
  readonly place?: string | undefined;
  readonly tier: Tier;
  /** The cluster of a catalogue's rule. */
  readonly owner?: string;
  /** An exclusion (`exclusions: own`) that applies only where a route of the same cluster would win. */
  readonly confined?: boolean;
}

/** The current contents of a cluster; a transport sends them after every change. */
export interface ClusterContents {
  /** `web` in the route's own namespace, `web.shop` in any. Lower case. */
  readonly services: ReadonlySet<string>;
  /** Service and pod addresses in canonical form. */
  readonly addresses: ReadonlySet<string>;
}

/** The tables by the name of their transport. */
export type Tables = ReadonlyMap<string, ClusterContents>;

const tierWeights: Record<Tier, number> = { direct: 3, routes: 2, exclusions: 1, catalogue: 0 };

/**
 * The ranks of pattern kinds within a tier. Networks and names share the scale because no target matches
 * both.
 */
export const rankOf = { any: 0, local: 2, suffix: 8, table: 900, exact: 1000, tier: 4096 } as const;

/**
 * Of all rules that match a target, the one with the highest rank wins. The tier counts first, then: exact, a
 * table's entry (an exact name without a written rule), the longest suffix or prefix, `<local>`, `any`. A
 * port decides only between equal lengths; a pattern for names below a name is narrower than one that
 * includes the name.
 */
export function ruleRank({ tier, pattern }: Rule): number {
  return tierWeights[tier] * rankOf.tier + patternRank(pattern);
}

/** The pattern's part of a rule's rank. */
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

export function labelCount(name: string): number {
  let count = 1;
  for (let at = name.indexOf("."); at >= 0; at = name.indexOf(".", at + 1)) count++;
  return count;
}

/** Names a rule in logs and in `explain`. */
export function describeRule({ text, source, tier }: Rule): string {
  const word = tier === "direct" || tier === "exclusions" ? "exclusion" : "rule";
  return `${word} "${text}" (${source})`;
}
