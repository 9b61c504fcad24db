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
export * from "./programs/api_authorities.ts";
export * from "./background.ts";
export * from "./programs/cluster_credential.ts";
export * from "./programs/cluster_programs.ts";
export { configPath, type ConfigSource } from "./settings/config_file.ts";
export { appliedDnsFiles, applyDns, type DnsChange, systemdVersion, undoDns } from "./dns/dns_applied.ts";
export { applyCommand, cleanUp } from "./dns/dns_leftovers.ts";
export {
  type DnsSystem,
  dnsSystemFiles,
  type DnsWish,
  isDnsDomain,
  isOwnServer,
  nrptCommands,
} from "./dns/dns_system.ts";
export { forgetLearned } from "./learned_directory.ts";
export { checkedWish, dnsWishFromFiles, dnsWishOf } from "./dns/dns_wish.ts";
export * from "./doctor/doctor.ts";
export * from "./egress/check_proxy.ts";
export * from "./egress/no_proxy_list.ts";
export * from "./egress/render_injection.ts";
export * from "./egress/run_controller.ts";
export * from "./programs/emergency_credentials.ts";
export * from "./settings/environment_text.ts";
export { CatalogueRefresh } from "./catalogue/catalogue_refresh.ts";
export * from "./catalogue/fleet.ts";
export { countsOf, type FleetTest, type TestCounts } from "./fleet_tests/tested_fleet.ts";
export * from "./settings/from_files.ts";
export { namedKubeconfigs, writtenKubeconfigs } from "./settings/kubeconfigs.ts";
export type { OnDemand } from "./handed_over.ts";
export { connectInstance, type InstanceInfo, instances, isUntrusted, logFile } from "./instance.ts";
export type { Overrides } from "./settings/overrides.ts";
export * from "./programs/private_door.ts";
export type { InstanceReload } from "./reload_instances.ts";
export { runDoor, type RunDoorOptions } from "./door/run_door.ts";
export { type CatalogueSignIn, signInToCatalogues, signOutOfCatalogues } from "./programs/sign_in.ts";
export * from "./service/service.ts";
export { serviceLog } from "./service/service_log.ts";
export { planRemoval, planService } from "./service/service_plan.ts";
export { stopInstance } from "./stop_instance.ts";
export * from "./settings/starter_config.ts";
export * from "./programs/temporary_kubeconfig.ts";
export { keepKubeconfig } from "./programs/transient_kubeconfig.ts";
export { testFleet, type TestOptions, type TestRun } from "./fleet_tests/test_fleet.ts";
export * from "./catalogue/update_catalogues.ts";
export type { TransportReport } from "./door/transport_reports.ts";
export * from "./konnectivity/certificate_files.ts";
export * from "./konnectivity/fetch_through.ts";
export * from "./konnectivity/run_agent.ts";
export * from "./konnectivity/run_server.ts";
export * from "./konnectivity/run_sidecar.ts";
export type { ProxyChoice, SidecarSettings } from "./konnectivity/sidecar_config.ts";
export { parseLabels, selectorOf } from "./konnectivity/server_lease.ts";
