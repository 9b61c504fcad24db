import type { ObjectKind } from "../../kube/mod.ts";

const config = "config.openshift.io/v1";

/** The kinds that the controller reads or writes. */
export const kinds = {
  proxy: { apiVersion: config, kind: "Proxy", resource: "proxies" },
  infrastructure: { apiVersion: config, kind: "Infrastructure", resource: "infrastructures" },
  network: { apiVersion: config, kind: "Network", resource: "networks" },
  clusterOperator: { apiVersion: config, kind: "ClusterOperator", resource: "clusteroperators" },
  configMap: { apiVersion: "v1", kind: "ConfigMap", resource: "configmaps" },
  event: { apiVersion: "v1", kind: "Event", resource: "events" },
  deployment: { apiVersion: "apps/v1", kind: "Deployment", resource: "deployments" },
  daemonSet: { apiVersion: "apps/v1", kind: "DaemonSet", resource: "daemonsets" },
  statefulSet: { apiVersion: "apps/v1", kind: "StatefulSet", resource: "statefulsets" },
} as const satisfies Record<string, ObjectKind>;

/** The only Proxy, Infrastructure and Network that count. */
export const clusterName = "cluster";
/** Where trusted CAs are looked up. */
export const configNamespace = "openshift-config";
/** The merged bundle that everybody may read. */
export const managedBundle = { namespace: "openshift-config-managed", name: "trusted-ca-bundle" } as const;
/** What the installer was told. */
export const installConfig = {
  namespace: "kube-system",
  name: "cluster-config-v1",
  key: "install-config",
} as const;
/** What became of the last change, for those whose Proxy has no conditions. */
export const statusName = "postern-egress-status";
/** Who we are in `managedFields`. */
export const fieldManager = "postern-egress";
