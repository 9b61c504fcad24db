import type { TransportTried } from "./transport_contract.ts";
import { clusterProxies } from "./transports/cluster_proxies.ts";
import { direct, reject } from "./transports/direct_and_reject.ts";
import { konnectivity } from "./transports/konnectivity.ts";
import { kubernetes } from "./transports/kubernetes.ts";
import { proxies } from "./transports/proxies.ts";
import { ssh } from "./transports/ssh.ts";

/** Every kind of transport, in memory. `tests/unit/scripts/contracts_test.ts` fails for one that is missing here. */
export const transportsTried: readonly TransportTried[] = [
  direct(),
  ...proxies(),
  ...clusterProxies(),
  reject(),
  ssh(),
  ...kubernetes(),
  ...konnectivity(),
];
