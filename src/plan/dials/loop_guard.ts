import type { Conn } from "../../core/mod.ts";
import {
  type Endpoint,
  formatIp,
  formatTarget,
  isLoopback,
  parseIp,
  parseTarget,
  PosternError,
  unmapped,
} from "../../words/mod.ts";
import type { Datagram, Datagrams, Network } from "../../world/mod.ts";
import { isAmong, isWildcard } from "../own_addresses.ts";

/**
 * A network that never connects the instance to itself. It checks after the connect: a name, `0.0.0.0` or
 * another spelling of our address is recognizable only then.
 */
export function withoutLoops(
  network: Network,
  ownEndpoints: () => Iterable<Endpoint>,
  /** Whether an address stands for a name; listeners on it come and go. */
  isNamed: (address: string) => boolean = () => false,
): Network {
  /** The sockets for datagrams: one must not send to another. */
  const sockets = new Set<Datagrams>();
  return {
    listen: (endpoint) => network.listen(endpoint),
    async datagrams(endpoint) {
      const socket = new GuardedDatagrams(await network.datagrams(endpoint), sockets, isNamed);
      sockets.add(socket);
      return socket;
    },
    inherit: (descriptor) => network.inherit(descriptor),
    lookup: (name, options) => network.lookup(name, options),
    addresses: () => network.addresses(),
    secure: (conn, options) => network.secure(conn, options),
    secureAsServer: (conn, options) => network.secureAsServer(conn, options),
    async connect(endpoint, options) {
      if ("host" in endpoint && isNamed(endpoint.host)) throw loopError(formatTarget(endpoint));
      const conn = await network.connect(endpoint, options);
      if (!leadsBack(conn, ownEndpoints())) return conn;
      const error = loopError("path" in endpoint ? endpoint.path : formatTarget(endpoint));
      conn.abort(error);
      throw error;
    },
  };
}

class GuardedDatagrams implements Datagrams {
  readonly endpoint: Datagrams["endpoint"];
  readonly #socket: Datagrams;
  readonly #all: Set<Datagrams>;
  readonly #isNamed: (address: string) => boolean;

  constructor(socket: Datagrams, all: Set<Datagrams>, isNamed: (address: string) => boolean) {
    this.#isNamed = isNamed;
    this.endpoint = socket.endpoint;
    this.#socket = socket;
    this.#all = all;
  }

  receive(): Promise<Datagram | undefined> {
    return this.#socket.receive();
  }

  send(bytes: Uint8Array<ArrayBuffer>, to: Datagrams["endpoint"]): Promise<void> {
    if (this.#isNamed(to.host)) return Promise.reject(loopError(formatTarget(to)));
    for (const { endpoint } of this.#all) {
      if (endpoint.port === to.port && isAmong(to, [endpoint])) {
        return Promise.reject(loopError(formatTarget(to)));
      }
    }
    return this.#socket.send(bytes, to);
  }

  close(): void {
    this.#all.delete(this);
    this.#socket.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#all.delete(this);
    await this.#socket[Symbol.asyncDispose]();
  }
}

/** The error for a client that requests a connection to the instance itself. */
function loopError(what: string): PosternError {
  return new PosternError(
    "not_allowed",
    `Cannot connect to ${what}: the address is a listener of this instance, which would be a loop`,
    {
      detail: "loop",
      hint: "connect to your target's address, not to the listener's",
    },
  );
}

function leadsBack(conn: Conn, own: Iterable<Endpoint>): boolean {
  for (const endpoint of own) {
    if ("path" in endpoint) {
      if (conn.peer === `unix:${endpoint.path}`) return true;
    } else if (conn.peer.endsWith(`:${endpoint.port}`) && meets(conn, endpoint.host)) return true;
  }
  return false;
}

/** Whether a connection with this port has reached the listener bound to `host`. */
function meets(conn: Conn, host: string): boolean {
  if (conn.peer.startsWith("unix:")) return false;
  const peer = plainIp(parseTarget(conn.peer).host);
  const bound = plainIp(host);
  if (peer === bound) return true;
  if (!isWildcard(bound)) return false;
  // A wildcard listener accepts connections to all our addresses; there, both ends have equal addresses.
  const bytes = parseIp(peer);
  if (bytes && isLoopback(bytes)) return true;
  return conn.local !== undefined && plainIp(parseTarget(conn.local).host) === peer;
}

function plainIp(host: string): string {
  const bytes = parseIp(host);
  return bytes ? formatIp(unmapped(bytes)) : host;
}
