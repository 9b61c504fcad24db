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

/** The name of the only Proxy, Infrastructure and Network that OpenShift reads. */
export const clusterName = "cluster";
/** The namespace of trusted CAs. */
export const configNamespace = "openshift-config";
/** The merged bundle, readable by all service accounts. */
export const managedBundle = { namespace: "openshift-config-managed", name: "trusted-ca-bundle" } as const;
/** The install-config that the installer stored. */
export const installConfig = {
  namespace: "kube-system",
  name: "cluster-config-v1",
  key: "install-config",
} as const;
/** The ConfigMap that reports the last change, for a Proxy kind without conditions. */
export const statusName = "postern-egress-status";
/** Our field manager in `managedFields`. */
export const fieldManager = "postern-egress";
