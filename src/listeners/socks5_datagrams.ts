import { type Conn, type DialRequest, type Messages, whenAborted } from "../core/mod.ts";
import {
  describe,
  formatIp,
  parseIp,
  parseTarget,
  PosternError,
  socks5Reply,
  type Target,
  unmapped,
} from "../words/mod.ts";
import { encodeSocks5Datagram, encodeSocks5Reply, readSocks5Datagram } from "../wire/mod.ts";
import type { Datagram } from "../world/mod.ts";
import { lastWords } from "./http/last_words.ts";
import type { DatagramRelay, ListenerDeps, ServeOptions } from "./listener.ts";

/**
 * Serves UDP ASSOCIATE (RFC 1928, section 7): relays the client's datagrams while its TCP connection is open.
 * Accepts datagrams from the client's address only, and from one port: the announced one, or else the port of
 * the first valid datagram. Drops fragments, as the RFC allows.
 */
export async function serveSocks5Datagrams(
  client: Conn,
  messages: Messages,
  request: DialRequest,
  { deps, signal, draining }: { readonly deps: ListenerDeps } & Pick<ServeOptions, "signal" | "draining">,
): Promise<void> {
  const { log } = deps;
  const fields = { client: client.peer, protocol: request.protocol, user: request.user };
  let datagrams: ClientDatagrams;
  try {
    datagrams = await ClientDatagrams.open(client, request, deps);
  } catch (error) {
    log.info("client.refused", { ...fields, reason: describe(error) });
    return await lastWords(client, messages, encodeSocks5Reply(socks5Reply(error)), { deps });
  }
  await using relay = datagrams.relay;
  using _drain = draining && whenAborted(draining, () => relay.drain());
  const connected = async () => {
    await client.write(encodeSocks5Reply(0, relay.socket.endpoint));
    // The client's end ends the relay; it has nothing more to say.
    do messages.take(messages.pending.length); while (await messages.fill());
  };
  const running = [connected(), datagrams.run()];
  try {
    await Promise.race([...running, relay.ended]);
  } catch (error) {
    if (!signal.aborted) log.debug("client.gone", { ...fields, reason: describe(error) });
  } finally {
    relay.socket.close();
    await client[Symbol.asyncDispose]();
    await Promise.allSettled(running);
  }
}

/** The datagrams between one client and its relay. */
class ClientDatagrams {
  readonly relay: DatagramRelay;
  readonly #host: string;
  /** The client's port; 0 until its first valid datagram. */
  #port: number;

  private constructor(relay: DatagramRelay, host: string, port: number) {
    this.relay = relay;
    this.#host = host;
    this.#port = port;
  }

  static async open(
    client: Conn,
    { target, user }: DialRequest,
    { datagrams }: Pick<ListenerDeps, "datagrams">,
  ): Promise<ClientDatagrams> {
    if (!datagrams) {
      throw refusal("this listener does not relay UDP", "set listen.udp: true");
    }
    const [host, own] = [ipOf(client.peer), ipOf(client.local)];
    if (host === undefined || own === undefined) {
      throw refusal("a client on a socket file has no IP address", "connect to a listener with a port");
    }
    const request = { client: client.peer, host: own, ...(user !== undefined && { user }) };
    const opened: ClientDatagrams = new ClientDatagrams(
      await datagrams(request, (from, data) => opened.#reply(from, data)),
      host,
      target.port,
    );
    return opened;
  }

  /** Relays until the socket is closed. */
  async run(): Promise<void> {
    const { socket } = this.relay;
    for (let got = await socket.receive(); got; got = await socket.receive()) await this.#take(got);
  }

  #take({ bytes, from }: Datagram): Promise<void> | void {
    if (ipOf(from.host) !== this.#host || (this.#port !== 0 && from.port !== this.#port)) {
      return this.relay.dropped("client");
    }
    const read = readSocks5Datagram(bytes);
    if (!read) return this.relay.dropped("malformed");
    this.#port = from.port;
    const { fragment, target, data } = read;
    if (fragment !== 0) return this.relay.dropped("fragment");
    return this.relay.send(target, data);
  }

  async #reply(from: Target, data: Uint8Array<ArrayBuffer>): Promise<void> {
    try {
      // Replies exist only for datagrams of the client, so its port is known.
      const client = { host: this.#host, port: this.#port };
      await this.relay.socket.send(encodeSocks5Datagram(from, data), client);
    } catch (error) {
      if (!(error instanceof PosternError)) throw error;
      // Too large with the header; macOS sends at most 9,216 bytes. The next reply may be smaller.
      this.relay.dropped("unsent");
    }
  }
}

/** The IP address in `127.0.0.1:4711`, `[::1]:4711` or `::1`; undefined for other texts. */
function ipOf(place: string | undefined): string | undefined {
  if (place === undefined) return undefined;
  const bytes = parseIp(place) ?? (isPlace(place) ? parseIp(parseTarget(place).host) : undefined);
  return bytes && formatIp(unmapped(bytes));
}

function isPlace(text: string): boolean {
  return /^(?:[0-9.]+|\[[0-9a-f:.]+\]):[0-9]+$/i.test(text);
}

function refusal(reason: string, hint: string): PosternError {
  return new PosternError("not_allowed", "Cannot serve UDP ASSOCIATE", { reason, hint, detail: "command" });
}
