export { EgressController } from "./controller.ts";
export { clusterName, configNamespace, fieldManager, kinds, managedBundle, statusName } from "./kinds.ts";
export { type EndpointReport } from "./proxy_report.ts";
export { type Probe } from "./proxy_reconciler.ts";
export { type ProxyInputs, readProxyInputs } from "./proxy_inputs.ts";
