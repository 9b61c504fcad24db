import { type Conn, type DatagramPath, Messages } from "../core/mod.ts";
import {
  formatIp,
  formatTarget,
  isLoopback,
  isUnspecified,
  parseIp,
  parseTarget,
  PosternError,
  type Target,
  unmapped,
} from "../words/mod.ts";
import { encodeSocks5Datagram, readSocks5Datagram } from "../wire/mod.ts";
import type { Datagram, Datagrams, Network } from "../world/mod.ts";
import { isOfHost } from "./direct_datagrams.ts";

type FlowOptions = Parameters<DatagramPath["open"]>[1];
type Received = FlowOptions["received"];

/**
 * The relay address of a proxy's reply to UDP ASSOCIATE. Many proxies send a wildcard address, which means
 * their own. A loopback address of another machine would lead back to this one.
 */
export function relayOf(bound: Target, proxy: Pick<Conn, "peer">, label: string): Target {
  const own = parseIp(parseTarget(proxy.peer).host);
  const told = parseIp(bound.host);
  const isOwn = told && isUnspecified(told);
  const isHere = told && own && isLoopback(told) && !isLoopback(own);
  if (!own || !told || isHere || !(isOwn || isOfHost(bound.host)) || bound.port === 0) {
    throw new PosternError("protocol", `Cannot relay UDP through ${label}`, {
      reason: `its relay address ${formatTarget(bound)} is unusable`,
    });
  }
  return { host: formatIp(unmapped(isOwn ? own : told)), port: bound.port };
}

/** Datagrams through a SOCKS5 proxy (RFC 1928, section 7), while the TCP connection to the proxy is open. */
export class Socks5Datagrams implements DatagramPath {
  readonly #conn: Conn;
  readonly #socket: Datagrams;
  readonly #relay: Target;
  readonly #flows = new Set<{ readonly target: Target; readonly received: Received }>();
  readonly #ended = Promise.withResolvers<unknown>();
  readonly #running: Promise<unknown>;

  private constructor(
    conn: Conn,
    { socket, relay, label }: { socket: Datagrams; relay: Target; label: string },
  ) {
    this.#conn = conn;
    this.#socket = socket;
    this.#relay = relay;
    this.#running = Promise.all([this.#watch(conn, label), this.#read()]);
  }

  /** Starts with the connection on which the proxy has opened its relay. */
  static async start(
    conn: Conn,
    { network, relay, label }: { network: Pick<Network, "datagrams">; relay: Target; label: string },
  ): Promise<Socks5Datagrams> {
    const { host } = relay;
    const isHere = isLoopback(parseIp(host) ?? new Uint8Array(4));
    const from = host.includes(":") ? (isHere ? "::1" : "::") : (isHere ? "127.0.0.1" : "0.0.0.0");
    const socket = await network.datagrams({ host: from, port: 0 });
    return new Socks5Datagrams(conn, { socket, relay, label });
  }

  get ended(): Promise<unknown> {
    return this.#ended.promise;
  }

  /** The proxy resolves the name. */
  open(target: Target, { received }: FlowOptions): ReturnType<DatagramPath["open"]> {
    const flow = { target, received };
    this.#flows.add(flow);
    return Promise.resolve({
      send: (data) => this.#send(target, data),
      [Symbol.dispose]: () => void this.#flows.delete(flow),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#flows.clear();
    this.#ended.resolve(undefined);
    await this.#conn[Symbol.asyncDispose]();
    await this.#socket[Symbol.asyncDispose]();
    await this.#running;
  }

  async #send(target: Target, data: Uint8Array<ArrayBuffer>): Promise<void> {
    await this.#socket.send(encodeSocks5Datagram(target, data), this.#relay);
  }

  /** The proxy closes the connection when it ends the relay. */
  async #watch(conn: Conn, label: string): Promise<void> {
    const messages = new Messages(conn, { limit: 1024, initial: 128 });
    try {
      do messages.take(messages.pending.length); while (await messages.fill());
      this.#ended.resolve(
        new PosternError("unreachable", `Cannot relay UDP through ${label}`, {
          reason: "it closed the connection",
        }),
      );
    } catch (error) {
      this.#ended.resolve(error);
    }
  }

  async #read(): Promise<void> {
    try {
      for (let got: Datagram | undefined; (got = await this.#socket.receive());) {
        const { from, bytes } = got;
        if (from.port !== this.#relay.port || from.host !== this.#relay.host) continue;
        const read = readSocks5Datagram(bytes);
        if (read?.fragment !== 0) continue;
        await this.#flowOf(read.target)?.received(read.data, read.target);
      }
    } catch (error) {
      this.#ended.resolve(error);
    }
  }

  /**
   * The flow of a reply. Only the proxy knows the address of a name, so a reply from an address that was not
   * asked belongs to the newest name with its port.
   */
  #flowOf(source: Target): { readonly received: Received } | undefined {
    const flows = [...this.#flows].filter(({ target: { port } }) => port === source.port).reverse();
    return flows.find(({ target: { host } }) => host === source.host) ??
      flows.find(({ target: { host } }) => parseIp(host) === undefined);
  }
}
