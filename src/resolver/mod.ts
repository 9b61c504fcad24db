export {
  appliedDnsFiles,
  appliedWish,
  applyDns,
  type DnsChange,
  systemdVersion,
  undoDns,
} from "./dns_applied.ts";
export { answersDns, applyCommand, cleanUp, repairDns } from "./dns_leftovers.ts";
export {
  type DnsSystem,
  dnsSystemFiles,
  type DnsWish,
  isDnsDomain,
  isOwnServer,
  nrptCommands,
} from "./dns_system.ts";
