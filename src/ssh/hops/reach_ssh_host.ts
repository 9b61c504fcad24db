import type { Conn, DialOptions } from "../../core/mod.ts";
import type { Dialer, Network } from "../../world/mod.ts";
import { parseIp, PosternError, withContext } from "../../words/mod.ts";
import { firstConnected } from "../../http/mod.ts";
import type { SshHost } from "../config/ssh_host.ts";
import type { SshServices } from "../ssh_services.ts";

/** Connects to the first host of a chain. */
export type ReachSshHost = (host: SshHost, options: DialOptions) => Promise<Conn>;

interface Reaching {
  readonly network: Pick<Network, "connect" | "lookup">;
  readonly services: Pick<SshServices, "runCommand" | "clock">;
  /** True without `via`; only then do BindAddress and AddressFamily apply. */
  readonly isStraight: boolean;
}

const known = new WeakMap<Dialer, ReachSshHost>();

/**
 * Returns the same function for the same dialer: chains share their first host only when they reach it the
 * same way.
 */
export function reachingThrough(dialer: Dialer, reaching: Reaching): ReachSshHost {
  let reach = known.get(dialer);
  if (!reach) {
    reach = (host, options) => reachSshHost(host, { ...reaching, dialer, options });
    known.set(dialer, reach);
  }
  return reach;
}

interface Reach extends Reaching {
  readonly dialer: Dialer;
  readonly options: DialOptions;
}

async function reachSshHost(host: SshHost, { dialer, options, ...reaching }: Reach): Promise<Conn> {
  const { network, services: { runCommand, clock }, isStraight } = reaching;
  const { signal } = options;
  const to = { clock, signal, name: host.hostName, port: host.port };
  const { alias, hostName, port, proxyCommand, bindAddress, addressFamily: family } = host;
  if (proxyCommand !== undefined) {
    if (runCommand) return await runCommand(proxyCommand, { ...options, alias });
    throw new PosternError("config", `Cannot use ssh ${alias}: this instance cannot run its ProxyCommand`, {
      hint: "use engine: openssh for this host",
    });
  }
  if (bindAddress !== undefined && isStraight) {
    const from = parseIp(bindAddress)
      ? bindAddress
      : await firstAddress(bindAddress, host, { network, options }).catch((error: unknown) => {
        if (!(error instanceof PosternError)) throw error;
        throw withContext(`Cannot use BindAddress ${bindAddress}`, error);
      });
    const wanted = from.includes(":") ? "inet6" : "inet";
    return await firstConnected(
      await addressesOf(hostName, { family: wanted, network, options }),
      (address, { signal }) => network.connect({ host: address, port }, { signal, from }),
      to,
    );
  }
  // The transport of `via` resolves the name.
  if (!isStraight || family === "any" || parseIp(hostName)) {
    return await dialer({ host: hostName, port }, options);
  }
  const addresses = await addressesOf(hostName, { family, network, options });
  return await firstConnected(
    addresses,
    (address, { signal }) => dialer({ host: address, port }, { ...options, signal }),
    to,
  );
}

type Family = "inet" | "inet6";

async function firstAddress(
  name: string,
  { addressFamily }: SshHost,
  { network, options }: { network: Pick<Network, "lookup">; options: DialOptions },
): Promise<string> {
  const addresses = addressFamily === "any"
    ? await network.lookup(name, options)
    : await addressesOf(name, { family: addressFamily, network, options });
  return addresses[0] ?? name;
}

/** Returns the addresses of one family, at least one. */
async function addressesOf(
  name: string,
  { family, network, options }: { family: Family; network: Pick<Network, "lookup">; options: DialOptions },
): Promise<readonly string[]> {
  const all = parseIp(name) ? [name] : await network.lookup(name, options);
  const wanted = all.filter((address) => address.includes(":") === (family === "inet6"));
  if (wanted.length > 0) return wanted;
  const kind = family === "inet6" ? "IPv6" : "IPv4";
  throw new PosternError("name_not_found", `Cannot reach ${name}: it has no ${kind} address`, {
    hint: "check AddressFamily and BindAddress of this host in the ssh configuration",
  });
}
