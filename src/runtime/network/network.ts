import {
  type AttachedNetwork,
  checkSocketPath,
  type Listening,
  type Network,
  type SecureOptions,
} from "../../world/mod.ts";
import { type Conn, whenAborted } from "../../core/mod.ts";
import { type Endpoint, formatTarget, PosternError } from "../../words/mod.ts";
import { connectFrom } from "./connect_from.ts";
import { fileError } from "../files/file_error.ts";
import { inheritListening } from "./inherited_listening.ts";
import { listenError } from "./listen_error.ts";
import { SocketConn } from "./socket_conn.ts";
import { socketError } from "./socket_error.ts";
import { hasRoom, SpareDescriptors } from "./spare_descriptors.ts";
import { listenUnix } from "./unix_listening.ts";

/** Provides access to the machine's network. */
export function createNetwork(): Network {
  const spare = new SpareDescriptors();
  return {
    connect: (endpoint, { signal, from }) =>
      from !== undefined && "host" in endpoint
        ? connectFrom(from, endpoint, { signal })
        : connect(endpoint, signal, spare),
    listen: (endpoint) => listen(endpoint, spare),
    hasRoom,
    async datagrams(endpoint) {
      const { bindDatagrams } = await import("./datagrams.ts");
      return await bindDatagrams(endpoint);
    },
    inherit: (descriptor) => inheritListening({ fd: descriptor }, spare),
    lookup,
    nameOf,
    addresses,
    attached,
    secure,
    trusted,
    async canServeTls() {
      const { canServeTls } = await import("../tls/tls_server.ts");
      return await canServeTls();
    },
    async secureAsServer(conn, options) {
      const { secureAsServer } = await import("../tls/tls_server.ts");
      return await secureAsServer(conn, options);
    },
  };
}

function addresses(): string[] {
  try {
    return Deno.networkInterfaces().map(({ name, address }) => `${name} ${address}`);
  } catch (error) {
    throw fileError(error, "list this machine's addresses");
  }
}

function attached(): AttachedNetwork[] {
  try {
    return Deno.networkInterfaces().flatMap(({ name, address, cidr }) => {
      const bits = /\/([0-9]{1,3})$/.exec(cidr ?? "")?.[1];
      return bits === undefined ? [] : [{ name, address, bits: Number(bits) }];
    });
  } catch (error) {
    throw fileError(error, "list this machine's networks");
  }
}

async function connect(endpoint: Endpoint, signal: AbortSignal, spare: SpareDescriptors): Promise<Conn> {
  const what = endpointText(endpoint);
  if (signal.aborted) throw signal.reason;
  spare.demandRoom(what);
  try {
    if ("path" in endpoint) {
      const socket = await Deno.connect({ transport: "unix", path: endpoint.path });
      // The error of the bind takes precedence.
      if (!signal.aborted) return new SocketConn(socket, { peer: `unix:${endpoint.path}` });
      socket.close();
      throw signal.reason;
    }
    return new SocketConn(
      await Deno.connect({ hostname: endpoint.host, port: endpoint.port, signal, autoSelectFamily: false }),
    );
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw socketError(error, what);
  }
}

function listen(endpoint: Endpoint, spare: SpareDescriptors): Listening {
  if ("path" in endpoint) checkSocketPath(endpoint.path, Deno.build.os === "linux" ? "linux" : "darwin");
  try {
    const listener = "path" in endpoint
      ? listenUnix(endpoint.path)
      : Deno.listen({ hostname: endpoint.host, port: endpoint.port });
    return new SocketListening(listener, spare, "path" in endpoint ? endpoint : undefined);
  } catch (error) {
    throw listenError(error, endpoint);
  }
}

class SocketListening implements Listening {
  readonly endpoint: Endpoint;
  readonly #listener: Deno.Listener;
  readonly #spare: SpareDescriptors;
  #isClosed = false;

  constructor(listener: Deno.Listener, spare: SpareDescriptors, place: Endpoint | undefined) {
    this.#listener = listener;
    this.#spare = spare;
    spare.hold();
    const { addr } = listener;
    this.endpoint = place ?? ("hostname" in addr ? { host: addr.hostname, port: addr.port } : { path: "" });
  }

  async accept(): Promise<Conn | undefined> {
    while (true) {
      try {
        const socket = await this.#listener.accept();
        const { endpoint } = this;
        return new SocketConn(socket, "path" in endpoint ? { local: `unix:${endpoint.path}` } : {});
      } catch (error) {
        if (this.#isClosed) return undefined;
        const failure = socketError(error, `a client of ${endpointText(this.endpoint)}`);
        // Ignore a client that disconnected before we accepted it.
        if (failure instanceof PosternError && failure.detail === "reset") continue;
        throw failure;
      }
    }
  }

  spendSpare(): boolean {
    return this.#spare.spend();
  }

  keepSpare(): boolean {
    return this.#spare.keep();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#listener.close();
    this.#spare.release();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.close();
    return Promise.resolve();
  }
}

async function lookup(name: string, { signal }: { signal: AbortSignal }): Promise<readonly string[]> {
  const { lookup } = await import("node:dns");
  const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
  if (signal.aborted) throw signal.reason;
  using _stop = whenAborted(signal, () => reject(signal.reason));
  lookup(name, { all: true, verbatim: true }, (error, found) => {
    if (error) reject(lookupError(error, name));
    else if (found.length === 0) reject(lookupError(new Error("no address"), name));
    else resolve(found.map(({ address }) => address));
  });
  return await promise;
}

async function nameOf(address: string, { signal }: { signal: AbortSignal }): Promise<string> {
  const { lookupService } = await import("node:dns");
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  if (signal.aborted) throw signal.reason;
  using _stop = whenAborted(signal, () => reject(signal.reason));
  lookupService(address, 0, (error, name) => {
    if (error) reject(nameError(error, address));
    // Without a name, some resolvers return the address.
    else if (name === undefined || name === "" || name === address) reject(nameError(undefined, address));
    else resolve(name);
  });
  return await promise;
}

function nameError(cause: Error | undefined, address: string): PosternError {
  return new PosternError("name_not_found", `Cannot find the name of ${address}`, {
    cause,
    reason: "the system resolver has no name for it",
  });
}

function lookupError(error: Error, name: string): PosternError {
  const code = (error as { code?: unknown }).code;
  if (code === "EAI_AGAIN" || code === "ETIMEOUT") {
    return new PosternError("timeout", `Cannot resolve "${name}"`, {
      cause: error,
      reason: "the resolver did not answer",
    });
  }
  // Node's resolver reports this when Deno's permission is missing.
  if (code === "EPERM") {
    return new PosternError("not_allowed", `Cannot resolve "${name}"`, {
      cause: error,
      reason: "postern runs without the network permission",
      hint: "add --allow-net to its flags",
    });
  }
  return new PosternError("name_not_found", `Cannot resolve "${name}"`, {
    cause: error,
    reason: "no such name",
    hint: "for a name of another network, add a route through that network; check it: postern explain HOST",
  });
}

async function trusted(): Promise<readonly string[]> {
  const { trustedCertificates } = await import("../tls/trusted_certificates.ts");
  return await trustedCertificates();
}

async function secure(conn: Conn, options: SecureOptions & { signal: AbortSignal }): Promise<Conn> {
  const { secure } = await import("../tls/tls.ts");
  return await secure(conn, options);
}

function endpointText(endpoint: Endpoint): string {
  return "path" in endpoint ? endpoint.path : formatTarget(endpoint);
}
