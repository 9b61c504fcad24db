import type { Catalogue, Cluster } from "./cluster.ts";

/** A cluster of any catalogue. */
export interface KnownCluster {
  /** Its id; with its catalogue in front (`main/c-x`) where another catalogue has a cluster of the same id. */
  readonly name: string;
  readonly catalogue: Catalogue;
  readonly cluster: Cluster;
}

/** All clusters of some catalogues, each under a name of its own, in the order of the catalogues. */
export function knownClusters(catalogues: readonly Catalogue[]): KnownCluster[] {
  const counts = new Map<string, number>();
  for (const { clusters } of catalogues) {
    for (const { id } of clusters) counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return catalogues.flatMap((catalogue) =>
    catalogue.clusters.map((cluster) => {
      const isShared = (counts.get(cluster.id) ?? 0) > 1;
      return { name: isShared ? `${catalogue.name}/${cluster.id}` : cluster.id, catalogue, cluster };
    })
  );
}
