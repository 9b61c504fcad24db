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
import { listenerKinds, type ListenerSettings } from "../listeners/mod.ts";
import { listenOf, type Settings } from "./settings.ts";

/** The configured addresses of the instance's listeners; a port that the system assigns is 0. */
export function listenAddresses(settings: Settings): readonly Endpoint[] {
  const listen = listenOf(settings);
  return [...listenerKinds, "forward" as const].flatMap<ListenerSettings>((kind) => listen[kind] ?? [])
    .flatMap(({ address }) => address.sockets.map(({ endpoint }) => endpoint));
}

/** Whether an address, in any spelling, is one of the endpoints. Resolves no name but "localhost". */
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

/** Whether a listener's host is a wildcard address. */
export function isWildcard(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}
