/** What is known of a cluster by name; values are any JSON, whatever their name promises. */
export type Facts = Readonly<Record<string, unknown>>;

/** A cluster as the catalogue keeps it: what the source said besides, and may be secret, is not here. */
export interface Cluster {
  readonly id: string;
  readonly displayName: string;
  readonly tenant?: string;
  /** What people wrote down. */
  readonly facts: Facts;
  /** What the cluster reports of itself. */
  readonly dynamicFacts: Facts;
}

/** All clusters of one source at one time. */
export interface Catalogue {
  /** The name of the source in the configuration. */
  readonly name: string;
  /** Where it came from: the address of the API, or a file. */
  readonly source: string;
  /** When it was fetched, in RFC 3339. */
  readonly fetched: string;
  readonly clusters: readonly Cluster[];
  /** Routes that a source gave beside its clusters. */
  readonly mapping?: SuffixMapping;
}

/** Suffixes and where they go, without the clusters they belong to. */
export interface SuffixMapping {
  /** Suffix to jump host. */
  readonly jumphosts: Readonly<Record<string, string>>;
  readonly direct: readonly string[];
}

/** Something of a cluster that could not be used, and why. It never costs more than itself. */
export interface FactWarning {
  /** The cluster, or where it stands in the list when it has no usable id. */
  readonly cluster: string;
  readonly fact?: string;
  /** To be read after the fact: `"com" is left out: …`. */
  readonly message: string;
}

/** A warning on one line. */
export function describeWarning({ cluster, fact, message }: FactWarning): string {
  return `cluster ${cluster}: ${fact === undefined ? "" : `fact ${fact}: `}${message}`;
}

/** A cluster's fact by its name; what the cluster reports of itself counts only where nobody wrote it down. */
export function factOf({ facts, dynamicFacts }: Cluster, name: string): unknown {
  if (Object.hasOwn(facts, name)) return facts[name];
  return Object.hasOwn(dynamicFacts, name) ? dynamicFacts[name] : undefined;
}
