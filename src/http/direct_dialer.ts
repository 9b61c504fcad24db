import type { Clock } from "../core/mod.ts";
import {
  endsInNumber,
  formatIp,
  formatTarget,
  parseIPv4,
  parseIPv6,
  PosternError,
  type Target,
  unmapped,
} from "../words/mod.ts";
import type { Dialer, Network } from "../world/mod.ts";
import { firstConnected, interleaved } from "./happy_eyeballs.ts";

export interface DirectDialerParts {
  readonly network: Pick<Network, "connect" | "lookup">;
  readonly clock: Clock;
}

/** Connects from this machine: to an address at once, to a name by resolving it and racing its addresses. */
export function directDialer({ network, clock }: DirectDialerParts): Dialer {
  const dialName: Dialer = async ({ host: name, port }, { signal, onStep }) => {
    const addresses = await lookedUp(name, { network, signal });
    onStep?.(`found ${name}: ${addresses.join(", ")}`);
    const connect = (host: string, options: { signal: AbortSignal }) =>
      network.connect({ host, port }, options);
    return await firstConnected(interleaved(addresses), connect, { clock, signal, name, port });
  };
  // Not async: for an address, the network's promise must be the only cost.
  return (target, options) => {
    const { host, port } = target;
    if (!isPort(port)) return Promise.reject(noPort(target));
    if (!host.includes(":")) {
      return parseIPv4(host) ? network.connect(target, options) : dialName(target, options);
    }
    const address = dialableIPv6(target);
    return address instanceof PosternError
      ? Promise.reject(address)
      : network.connect({ host: address, port }, options);
  };
}

/** The addresses of a target, as the dialer would use them, in the resolver's order. */
export async function directAddresses(
  target: Target,
  { network, signal }: { readonly network: Pick<Network, "lookup">; readonly signal: AbortSignal },
): Promise<readonly string[]> {
  const { host, port } = target;
  if (!isPort(port)) throw noPort(target);
  if (host.includes(":")) {
    const address = dialableIPv6(target);
    if (address instanceof PosternError) throw address;
    return [address];
  }
  return parseIPv4(host) ? [host] : interleaved(await lookedUp(host, { network, signal }));
}

async function lookedUp(
  name: string,
  { network, signal }: { readonly network: Pick<Network, "lookup">; readonly signal: AbortSignal },
): Promise<readonly string[]> {
  if (isName(name)) return await network.lookup(name, { signal });
  throw new PosternError("name_not_found", `Cannot find ${JSON.stringify(name)}: not a host name`);
}

function isPort(port: number): boolean {
  return port >= 1 && port <= 65535;
}

function noPort(target: Target): PosternError {
  return unreachable(target, `port ${target.port} is not from 1 to 65535`);
}

function dialableIPv6(target: Target): string | PosternError {
  const bytes = parseIPv6(target.host);
  if (!bytes) {
    return unreachable(
      target,
      target.host.includes("%") ? "a zone is valid only on one machine" : "not an address",
    );
  }
  // fe80::/10 is a different network on each interface, and a client cannot name an interface of this
  // machine.
  if (bytes[0] === 0xfe && ((bytes[1] ?? 0) & 0xc0) === 0x80) {
    return unreachable(target, "a link-local address needs an interface");
  }
  return formatIp(unmapped(bytes));
}

/**
 * Whether the resolver may look up a name. Reject a numeric last label: the C library would read `127.1` and
 * `0x7f.1` as addresses, while the rules matched them as names.
 */
function isName(name: string): boolean {
  return name !== "" && name.length <= 255 && !/[\p{Cc}\s]/u.test(name) &&
    !endsInNumber(name);
}

function unreachable(target: Target, reason: string): PosternError {
  return new PosternError("unreachable", `Cannot reach ${formatTarget(target)}`, { reason, detail: "host" });
}
