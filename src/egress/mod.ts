export * from "./automatic_no_proxy.ts";
export * from "./ca_bundle.ts";
export * from "./check_no_proxy.ts";
export * from "./check_proxy_spec.ts";
export { checkProxyUrl, type ProxyField, type ProxyPlace, proxyPlace } from "./check_proxy_url.ts";
export * from "./inject_bundle.ts";
export * from "./inject_proxy.ts";
export { loadEgressController } from "./load_controller.ts";
export type {
  EgressController,
  EgressControllerParts,
  EndpointReport,
  Probe,
  ProxyInputs,
} from "./controller/mod.ts";
export { goNoProxy, type IsDirect } from "./no_proxy_match_go.ts";
export * from "./platform_facts.ts";
export * from "./proxy_spec.ts";
export { type RequestTarget, requestTarget } from "./request_target.ts";
export * from "./no_proxy_match.ts";
export * from "./readiness.ts";
export * from "./install_config.ts";
export * from "./bootstrap_manifests.ts";
export * from "./four_ways.ts";
