/** The facts of a cluster by name. A value may be any JSON, whatever the name suggests. */
export type Facts = Readonly<Record<string, unknown>>;

/** A cluster in a catalogue. Other fields of the source, which may be secret, are not kept. */
export interface Cluster {
  readonly id: string;
  readonly displayName: string;
  readonly tenant?: string;
  /** Static facts, which an operator wrote. */
  readonly facts: Facts;
  /** Facts that the cluster reports. */
  readonly dynamicFacts: Facts;
}

/** All clusters of one source at one time. */
export interface Catalogue {
  /** The name of the source in the configuration. */
  readonly name: string;
  /** The URL of the API, or a file. */
  readonly source: string;
  /** When it was fetched, in RFC 3339. */
  readonly fetched: string;
  readonly clusters: readonly Cluster[];
  /** Routes that the source lists separately from its clusters. */
  readonly mapping?: SuffixMapping;
}

/** Suffixes and their jump hosts, without the clusters they belong to. */
export interface SuffixMapping {
  /** Jump hosts by suffix. */
  readonly jumphosts: Readonly<Record<string, string>>;
  readonly direct: readonly string[];
}

/** A warning about a part of a cluster that postern ignores. */
export interface FactWarning {
  /** The cluster's id, or its position in the list if it has no valid id. */
  readonly cluster: string;
  readonly fact?: string;
  /** Follows the name of the cluster or fact: `"com" is ignored: …`. */
  readonly message: string;
}

/** Formats a warning on one line. */
export function describeWarning({ cluster, fact, message }: FactWarning): string {
  return `cluster ${cluster}: ${fact === undefined ? "" : `fact ${fact}: `}${message}`;
}

/** A cluster's fact by name; a static fact takes precedence over a reported one. */
export function factOf({ facts, dynamicFacts }: Cluster, name: string): unknown {
  if (Object.hasOwn(facts, name)) return facts[name];
  return Object.hasOwn(dynamicFacts, name) ? dynamicFacts[name] : undefined;
}
