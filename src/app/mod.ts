export { jsonSchema } from "../config/mod.ts";
export { errorInfo } from "../listeners/mod.ts";
export type {
  ConnectionInfo,
  ControlClient,
  DialReport,
  EndedConnection,
  ErrorInfo,
  ExplanationInfo,
  Hello,
  ProxyEnvironment,
  ReloadReport,
  Status,
  TrafficSample,
  Watched,
  WatchedStep,
  WatchedWhole,
} from "../listeners/mod.ts";
export * from "./api_authorities.ts";
export * from "./background.ts";
export * from "./cluster_credential.ts";
export * from "./cluster_programs.ts";
export { configPath, type ConfigSource } from "./config_file.ts";
export { appliedDnsFiles, applyDns, type DnsChange, systemdVersion, undoDns } from "./dns_applied.ts";
export { applyCommand, cleanUp } from "./dns_leftovers.ts";
export { type DnsSystem, dnsSystemFiles, type DnsWish, nrptCommands } from "./dns_system.ts";
export { checkedWish, dnsWishFromFiles, dnsWishOf } from "./dns_wish.ts";
export * from "./doctor.ts";
export * from "./egress/check_proxy.ts";
export * from "./egress/no_proxy_list.ts";
export * from "./egress/render_injection.ts";
export * from "./egress/run_controller.ts";
export * from "./emergency_credentials.ts";
export * from "./environment_text.ts";
export * from "./fleet.ts";
export { countsOf, type FleetTest, type TestCounts } from "./tested_fleet.ts";
export * from "./from_files.ts";
export type { OnDemand } from "./handed_over.ts";
export { connectInstance, type InstanceInfo, instances, logFile } from "./instance.ts";
export type { Overrides } from "./overrides.ts";
export * from "./private_door.ts";
export type { InstanceReload } from "./reload_instances.ts";
export { runDoor, type RunDoorOptions } from "./run_door.ts";
export { type CatalogueSignIn, signInToCatalogues, signOutOfCatalogues } from "./sign_in.ts";
export * from "./service.ts";
export { planRemoval, planService } from "./service_plan.ts";
export * from "./starter_config.ts";
export * from "./temporary_kubeconfig.ts";
export { keepKubeconfig } from "./transient_kubeconfig.ts";
export { testFleet, type TestOptions, type TestRun } from "./test_fleet.ts";
export * from "./update_catalogues.ts";
export type { TransportReport } from "./transport_reports.ts";
export * from "./konnectivity/certificate_files.ts";
export * from "./konnectivity/fetch_through.ts";
export * from "./konnectivity/run_agent.ts";
export * from "./konnectivity/run_server.ts";
export * from "./konnectivity/run_sidecar.ts";
export type { ProxyChoice, SidecarSettings } from "./konnectivity/sidecar_config.ts";
export { parseLabels, selectorOf } from "./konnectivity/server_lease.ts";
