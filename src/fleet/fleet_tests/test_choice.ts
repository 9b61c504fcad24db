import { wildcardPattern } from "../../core/mod.ts";
import type { ClusterEndpoint, KnownCluster } from "../../clusters/mod.ts";
import { PosternError, targetOf } from "../../words/mod.ts";
import type { BuiltTransport } from "../../transports/mod.ts";
import { configuredRoute, hopsOf, type Plan } from "../../plan/mod.ts";

/** Selects tests; an empty choice selects all. */
export interface TestWords {
  /** Names of transports, hosts or clusters; one without a match is an error. */
  readonly patterns: readonly string[];
  readonly exclude: readonly string[];
  /** Label selectors over the facts of clusters. */
  readonly selectors: readonly string[];
}

export interface ChosenTests {
  readonly jumpHosts: readonly BuiltTransport[];
  readonly endpoints: readonly { readonly known: KnownCluster; readonly endpoint: ClusterEndpoint }[];
}

/** The selected jump hosts and clusters, with the jump hosts on the paths to those clusters. */
export async function chosenTests(
  plan: Plan,
  clusters: readonly KnownCluster[],
  words: TestWords,
): Promise<ChosenTests> {
  const { endpointsOf, selectClusters } = await import("../../clusters/mod.ts");
  const { patterns, exclude, selectors } = words;
  const jumpHosts = [...plan.transports.byName.values()].filter(({ transport }) => transport.connect);
  const named = patterns.map((pattern) => ({
    jumpHosts: jumpHosts.filter((one) =>
      namesOf(one).some((name) => wildcardPattern(pattern, "is").test(name))
    ),
    clusters: selectClusters(clusters, { patterns: [pattern] }),
    pattern,
  }));
  for (const { pattern, jumpHosts: found, clusters } of named) {
    if (found.length + clusters.length === 0) throw nothingCalled(pattern, jumpHosts);
  }
  const chosen = selectClusters(clusters, { patterns, exclude, selectors })
    .flatMap((known) => endpointsOf(known.cluster).map((endpoint) => ({ known, endpoint })));
  const isAll = patterns.length === 0 && selectors.length === 0;
  const wanted = new Set(
    isAll ? jumpHosts : [
      ...named.flatMap(({ jumpHosts }) => jumpHosts),
      ...chosen.flatMap(({ endpoint }) => "url" in endpoint ? pathTo(plan, endpoint.url) : []),
    ],
  );
  const isExcluded = (one: BuiltTransport) =>
    exclude.some((pattern) => wildcardPattern(pattern, "is").test(one.name));
  return { jumpHosts: jumpHosts.filter((one) => wanted.has(one) && !isExcluded(one)), endpoints: chosen };
}

function nothingCalled(pattern: string, jumpHosts: readonly BuiltTransport[]): PosternError {
  const known = jumpHosts.slice(0, mostNamed).map(({ name }) => name);
  const more = jumpHosts.length > mostNamed ? ` and ${jumpHosts.length - mostNamed} more` : "";
  return new PosternError(
    "usage",
    `Cannot test "${pattern}": no ssh transport, host or cluster has this name`,
    {
      hint: known.length === 0
        ? "list the clusters: postern clusters; the configuration has no ssh transport"
        : `use one of the transports ${known.join(", ")}${more}, or list the clusters: postern clusters`,
    },
  );
}

const mostNamed = 10;

function namesOf({ name, settings, transport }: BuiltTransport): readonly string[] {
  return [
    name,
    ...typeof settings === "string" ? [settings] : [],
    ...transport.status?.().hops?.map(({ host }) => host) ?? [],
  ];
}

function pathTo(plan: Plan, url: URL): readonly BuiltTransport[] {
  return hopsOf(plan, configuredRoute(plan, targetOf(url)));
}
