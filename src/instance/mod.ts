export { checkedWish, dnsWishFromFiles, dnsWishOf } from "./dns/dns_wish.ts";
export { closedDoor } from "./door/closed_door.ts";
export { Door } from "./door/door.ts";
export { addressText } from "./door/listener_set.ts";
export { demandRoutes, type FleetRefresh, type FleetRefreshOptions, runDoor } from "./door/run_door.ts";
export { doorSource } from "./door_source.ts";
export type { OnDemand } from "./handed_over.ts";
export { forgetLearned } from "./learned_directory.ts";
export { listenAnywhere } from "./listen_anywhere.ts";
export { doorOf, environmentOfProgram, renderEnvironment } from "./settings/environment_text.ts";
export {
  checkConfig,
  environmentFromFiles,
  explainFromFiles,
  pacFromFiles,
  showConfig,
} from "./settings/from_files.ts";
export { proxyEnvironment } from "./settings/proxy_environment.ts";
export { removeStaleSocket } from "./stale_socket.ts";
export { keepKubeconfig } from "./transient_kubeconfig.ts";
