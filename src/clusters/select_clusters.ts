import { wildcardPattern } from "../core/mod.ts";
import { closest } from "../config/mod.ts";
import { PosternError } from "../words/mod.ts";
import { type Cluster, factOf } from "./cluster.ts";
import { addressesOf } from "./cluster_facts.ts";
import type { KnownCluster } from "./known_clusters.ts";
import { parseSelector } from "./selector.ts";

/** Selects clusters; an empty choice selects all. */
export interface ClusterChoice {
  /** Each is a part of a name, or with `*` and `?` a pattern for the whole name. One match is enough. */
  readonly patterns?: readonly string[];
  readonly exclude?: readonly string[];
  /** Label selectors over the facts; all must match. */
  readonly selectors?: readonly string[];
}

/** How many candidates of an ambiguous name are listed. */
const mostListed = 10;

/** The selected clusters, in their original order. */
export function selectClusters(
  clusters: readonly KnownCluster[],
  { patterns = [], exclude = [], selectors = [] }: ClusterChoice,
): readonly KnownCluster[] {
  const wanted = patterns.map(matcher);
  const unwanted = exclude.map(matcher);
  const chosen = selectors.map(parseSelector);
  return clusters.filter((known) =>
    (wanted.length === 0 || wanted.some((matches) => matches(known))) &&
    !unwanted.some((matches) => matches(known)) &&
    chosen.every((selects) => selects((label) => labelOf(known.cluster, label)))
  );
}

/**
 * Finds one cluster by its name, display name or API address, or by a unique part of one of these. An exact
 * match takes precedence.
 */
export function findCluster(clusters: readonly KnownCluster[], name: string): KnownCluster {
  const wanted = name.trim().toLowerCase();
  const shown = name.slice(0, 100);
  if (wanted === "") {
    throw new PosternError("usage", "Cannot find the cluster: the name is empty", {
      hint: "list the clusters: postern clusters",
    });
  }
  const url = URL.parse(wanted);
  const exactly: readonly ((known: KnownCluster) => boolean)[] = [
    (known) => known.name.toLowerCase() === wanted,
    ({ cluster }) => cluster.id.toLowerCase() === wanted,
    ({ cluster }) => cluster.displayName.toLowerCase() === wanted,
    ({ cluster }) => url !== null && addressesOf(cluster).api?.origin === url.origin,
    (known) => textsOf(known).some((text) => text.includes(wanted)),
  ];
  for (const means of exactly) {
    const [found, ...others] = clusters.filter(means);
    if (found && others.length === 0) return found;
    if (found) throw ambiguous(shown, [found, ...others]);
  }
  const meant = closest(wanted, clusters.map((known) => known.name));
  throw new PosternError("usage", `Cannot find the cluster "${shown}": no cluster has this name`, {
    hint: meant === undefined ? "list the clusters: postern clusters" : `did you mean ${meant}?`,
  });
}

function ambiguous(name: string, found: readonly KnownCluster[]): PosternError {
  const names = found.slice(0, mostListed).map((known) => known.name);
  const more = found.length > mostListed ? ` and ${found.length - mostListed} more` : "";
  return new PosternError(
    "usage",
    `Cannot choose a cluster: "${name}" matches ${names.join(", ")}${more}`,
    { hint: "type more of the name" },
  );
}

function matcher(pattern: string): (known: KnownCluster) => boolean {
  const wanted = pattern.toLowerCase();
  if (!/[*?]/.test(wanted)) return (known) => textsOf(known).some((text) => text.includes(wanted));
  const whole = wildcardPattern(wanted);
  return (known) => textsOf(known).some((text) => whole.test(text));
}

function textsOf({ name, cluster }: KnownCluster): readonly string[] {
  const { id, displayName } = cluster;
  const { api } = addressesOf(cluster);
  return [name, id, displayName, ...(api ? [api.origin, api.hostname] : [])].map((text) =>
    text.toLowerCase()
  );
}

/** A fact as a label: the text that a user would write for its JSON value. */
function labelOf(cluster: Cluster, name: string): string | undefined {
  const own = name === "id" || name === "tenant" ? cluster[name] : undefined;
  const fact = factOf(cluster, name) ?? own;
  if (fact === undefined || fact === null) return undefined;
  return typeof fact === "object" ? JSON.stringify(fact) : String(fact).trim();
}
