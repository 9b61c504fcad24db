export { AcceptedProxy } from "./accepted_proxy.ts";
export {
  acceptedStatus,
  automaticNoProxy,
  type AutomaticSettings,
  mergedNoProxy,
} from "./no_proxy/automatic_no_proxy.ts";
export { bootstrapManifests, environmentFile } from "./bootstrap_manifests.ts";
export {
  bundleKey,
  bundleTextOf,
  type CaCertificate,
  type CaProblem,
  mergedBundle,
  readCaBundle,
  readSystemBundle,
} from "./ca_bundle.ts";
export { checkNoProxy } from "./no_proxy/check_no_proxy.ts";
export { checkProxySpec } from "./check_proxy_spec.ts";
export type { ProxyInputs } from "./controller/proxy_inputs.ts";
export type { Probe } from "./controller/proxy_reconciler.ts";
export type { EndpointReport } from "./controller/proxy_report.ts";
export { fourWays } from "./four_ways.ts";
export { bundleInjection, wantsBundle } from "./inject_bundle.ts";
export { injectProxy } from "./inject_proxy.ts";
export { readInstallConfig } from "./install_config.ts";
export { loadEgressController } from "./load_controller.ts";
export { type NoProxyClient, type NoProxyVerdict, noProxyVerdicts } from "./no_proxy/no_proxy_match.ts";
export { goNoProxy } from "./no_proxy/no_proxy_match_go.ts";
export { type PlatformFacts, readInfrastructure, readInstallFacts, readNetwork } from "./platform_facts.ts";
export {
  isWithoutProxy,
  type ProxySpec,
  type ProxyStatus,
  readProxySpec,
  type SpecProblem,
} from "./proxy_spec.ts";
export { type EndpointResult, probeEndpoints } from "./readiness.ts";
