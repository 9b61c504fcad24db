import type { Clock, Conn, DialOptions, Transport } from "../core/mod.ts";
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
import type { Network } from "../world/mod.ts";
import { firstConnected, interleaved } from "../http/mod.ts";

export interface DirectDeps {
  readonly network: Network;
  readonly clock: Clock;
}

/** Connects from this machine: addresses at once, names by the system's resolver and a race of what it answers. */
export class Direct implements Transport {
  readonly name = "direct";
  readonly #network: Network;
  readonly #clock: Clock;

  constructor({ network, clock }: DirectDeps) {
    this.#network = network;
    this.#clock = clock;
  }

  /** Not async: for an address, the network's own promise is the whole cost. */
  dial(target: Target, options: DialOptions): Promise<Conn> {
    const { host, port } = target;
    if (port < 1 || port > 65535) {
      return Promise.reject(unreachable(target, `port ${port} cannot be dialled`));
    }
    if (host.includes(":")) return this.#dialIPv6(target, options);
    return parseIPv4(host) ? this.#network.connect(target, options) : this.#dialName(target, options);
  }

  #dialIPv6(target: Target, options: DialOptions): Promise<Conn> {
    const bytes = parseIPv6(target.host);
    if (!bytes) {
      return Promise.reject(unreachable(
        target,
        target.host.includes("%")
          ? "an address with a zone belongs to one machine's interface"
          : "not an address",
      ));
    }
    // fe80::/10 is a different network on each interface, and a client has no way to name one of ours.
    if (bytes[0] === 0xfe && ((bytes[1] ?? 0) & 0xc0) === 0x80) {
      return Promise.reject(unreachable(target, "a link-local address needs an interface"));
    }
    return this.#network.connect({ host: formatIp(unmapped(bytes)), port: target.port }, options);
  }

  async #dialName(target: Target, { signal, onStep }: DialOptions): Promise<Conn> {
    const { host: name, port } = target;
    if (!isName(name)) {
      throw new PosternError("name_not_found", `Cannot find ${JSON.stringify(name)}: not a host name`);
    }
    const addresses = await this.#network.lookup(name, { signal });
    onStep?.(`found ${name}: ${addresses.join(", ")}`);
    return await firstConnected(
      interleaved(addresses),
      (host, options) => this.#network.connect({ host, port }, options),
      { clock: this.#clock, signal, name, port },
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}

/**
 * What the resolver may be asked. A last label that is a number is refused: the C library would read `127.1` and
 * `0x7f.1` as addresses, behind the back of the rules that took them for names.
 */
function isName(name: string): boolean {
  return name !== "" && name.length <= 255 && !/[\p{Cc}\s]/u.test(name) &&
    !endsInNumber(name);
}

function unreachable(target: Target, why: string): PosternError {
  return new PosternError("unreachable", `Cannot reach ${formatTarget(target)}: ${why}`, {
    detail: "host",
  });
}
