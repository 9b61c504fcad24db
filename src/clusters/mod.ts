export { certificateData, isPemIn } from "./certificate_data.ts";
export {
  type Catalogue,
  type Cluster,
  describeWarning,
  factOf,
  type Facts,
  type FactWarning,
  type SuffixMapping,
} from "./cluster.ts";
export { type ClusterEndpoint, type EndpointKind, endpointsOf } from "./cluster_endpoints.ts";
export { addressesOf, mayHaveCredentials, textOf } from "./cluster_facts.ts";
export { type KnownCluster, knownClusters } from "./known_clusters.ts";
export { findCluster, selectClusters } from "./select_clusters.ts";
export { shownText } from "./shown_text.ts";
