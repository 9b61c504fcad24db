import {
  type Endpoint,
  formatIp,
  isLoopback,
  isUnspecified,
  normalHost,
  parseIp,
  type Target,
  unmapped,
} from "../words/mod.ts";
import { listenerKinds } from "../listeners/mod.ts";
import { listenOf, type Settings } from "./settings.ts";

/** Where the door is to listen for clients, by its settings; a port that the system chooses is 0. */
export function listenAddresses(settings: Settings): readonly Endpoint[] {
  const listen = listenOf(settings);
  return listenerKinds.flatMap((kind) => listen[kind] ?? []).flatMap(({ address }) =>
    address.sockets.map(({ endpoint }) => endpoint)
  );
}

/** Whether an address, as somebody has written it, is one that is listened on. Nothing is resolved but "localhost". */
export function isAmong({ host, port }: Target, endpoints: Iterable<Endpoint>): boolean {
  for (const endpoint of endpoints) {
    if ("port" in endpoint && endpoint.port === port && meets(host, endpoint.host)) return true;
  }
  return false;
}

function meets(host: string, bound: string): boolean {
  const name = normalHost(host);
  const address = parseIp(name);
  if (!address) return name === "localhost" || name.endsWith(".localhost");
  if (formatIp(unmapped(address)) === bound) return true;
  if (isWildcard(bound)) return isLoopback(address) || isUnspecified(address);
  // A connection to an unspecified address reaches loopback.
  const listening = parseIp(bound);
  return isUnspecified(address) && listening !== undefined && isLoopback(listening);
}

/** Whether who listens there listens on every address of the machine. */
export function isWildcard(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}
