export * from "./catalogue_routes.ts";
export * from "./cluster.ts";
export * from "./lieutenant.ts";
export * from "./read_clusters.ts";
export * from "./read_domain.ts";
