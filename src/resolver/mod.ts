export {
  appliedDelegation,
  appliedDnsFiles,
  applyDns,
  type DnsChange,
  systemdVersion,
  undoDns,
} from "./dns_applied.ts";
export { answersDns, applyCommand, cleanUp, repairDns } from "./dns_leftovers.ts";
export { answersAt } from "./answers_at.ts";
export { type DesktopName, desktopNames } from "./proxy/desktops.ts";
export { readProxyState } from "./proxy/proxy_state.ts";
export {
  pacAddress,
  pacTarget,
  restoreDeadProxy,
  type RestoredProxy,
  restoreSystemProxy,
  setSystemProxy,
  systemProxy,
} from "./proxy/system_proxy.ts";
export {
  type DnsDelegation,
  type DnsSystem,
  dnsSystemFiles,
  isDnsDomain,
  isOwnServer,
  nrptCommands,
} from "./dns_system.ts";
export { loopbackAliases } from "./loopback_aliases.ts";
