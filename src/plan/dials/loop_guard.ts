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
import type { Network } from "../../world/mod.ts";
import { isWildcard } from "../own_addresses.ts";

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
  return {
    listen: (endpoint) => network.listen(endpoint),
    datagrams: (endpoint) => network.datagrams(endpoint),
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
