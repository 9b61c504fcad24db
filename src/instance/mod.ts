export { checkedDelegation, dnsDelegationFromFiles, dnsDelegationOf } from "./dns/dns_delegation.ts";
export { Instance, type InstanceOptions } from "./instance.ts";
export { demandRoutes } from "./demand_routes.ts";
export type { FleetRefresh } from "./config_follower.ts";
export { type FleetRefreshOptions, runInstance } from "./run_instance.ts";
export { instanceSource } from "./watching/instance_source.ts";
export type { OnDemand } from "./listening/handed_over.ts";
export { listenAnywhere } from "./listening/listen_anywhere.ts";
export { dockerProxies } from "./environment/docker_proxies.ts";
export {
  environmentOfProgram,
  environmentsOf,
  listenerOf,
  type ProgramEnvironment,
  renderEnvironment,
} from "./environment/environment_text.ts";
export {
  checkConfig,
  dialFromFiles,
  environmentFromFiles,
  explainFromFiles,
  pacFromFiles,
  showConfig,
  sshHostsFromFiles,
} from "./environment/from_files.ts";
export { proxyEnvironment } from "./environment/proxy_environment.ts";
export { removeStaleSocket } from "./listening/stale_socket.ts";
export { keepKubeconfig } from "./environment/transient_kubeconfig.ts";
