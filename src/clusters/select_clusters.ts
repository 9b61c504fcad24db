import { wildcardPattern } from "../core/mod.ts";
import { closest } from "../config/mod.ts";
import { PosternError } from "../words/mod.ts";
import { type Cluster, factOf } from "./cluster.ts";
import { addressesOf } from "./cluster_facts.ts";
import type { KnownCluster } from "./known_clusters.ts";
import { parseSelector } from "./selector.ts";

/** Which clusters are meant; all of them where nothing is said. */
export interface ClusterChoice {
  /** A part of a name, or with `*` and `?` a whole one; one that matches is enough. */
  readonly patterns?: readonly string[];
  readonly exclude?: readonly string[];
  /** Label selectors over the facts, all of which must hold. */
  readonly selectors?: readonly string[];
}

/** How many candidates of an ambiguous name are listed. */
const mostListed = 10;

/** The clusters that are meant, in their order. */
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
 * The one cluster that a person means: by its name, its display name or the address of its API, or by a part of one of
 * these that no other cluster has. What is meant exactly goes before what is meant in part.
 */
export function findCluster(clusters: readonly KnownCluster[], name: string): KnownCluster {
  const wanted = name.trim().toLowerCase();
  const shown = name.slice(0, 100);
  if (wanted === "") {
    throw new PosternError("usage", "Cannot tell which cluster is meant: the name is empty", {
      hint: "see which there are: postern clusters",
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
  throw new PosternError("usage", `Cannot find the cluster "${shown}": no cluster is called so`, {
    hint: meant === undefined ? "see them all: postern clusters" : `did you mean ${meant}?`,
  });
}

function ambiguous(name: string, found: readonly KnownCluster[]): PosternError {
  const names = found.slice(0, mostListed).map((known) => known.name);
  const more = found.length > mostListed ? ` and ${found.length - mostListed} more` : "";
  return new PosternError(
    "usage",
    `Cannot tell which cluster "${name}" is: it may be ${names.join(", ")}${more}`,
    { hint: "write more of the name" },
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

/** Facts are any JSON; as labels they are what a person would write for them. */
function labelOf(cluster: Cluster, name: string): string | undefined {
  const own = name === "id" || name === "tenant" ? cluster[name] : undefined;
  const fact = factOf(cluster, name) ?? own;
  if (fact === undefined || fact === null) return undefined;
  return typeof fact === "object" ? JSON.stringify(fact) : String(fact).trim();
}
