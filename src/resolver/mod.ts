export {
  appliedDelegation,
  appliedDnsFiles,
  applyDns,
  type DnsChange,
  systemdVersion,
  undoDns,
} from "./dns_applied.ts";
export { answersDns, applyCommand, cleanUp, repairDns } from "./dns_leftovers.ts";
export {
  type DnsDelegation,
  type DnsSystem,
  dnsSystemFiles,
  isDnsDomain,
  isOwnServer,
  nrptCommands,
} from "./dns_system.ts";
export { loopbackAliases } from "./loopback_aliases.ts";
