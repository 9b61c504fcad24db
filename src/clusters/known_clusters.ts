import type { Catalogue, Cluster } from "./cluster.ts";

/** A cluster of any catalogue. */
export interface KnownCluster {
  /** The cluster's id; preceded by the catalogue (`main/c-x`) if two catalogues contain that id. */
  readonly name: string;
  readonly catalogue: Catalogue;
  readonly cluster: Cluster;
}

/** All clusters of several catalogues with unique names, in the order of the catalogues. */
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
