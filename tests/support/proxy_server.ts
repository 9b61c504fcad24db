import { type Conn, Messages, relay, type Tally, Tasks } from "../../src/core/mod.ts";
import { type Endpoint, httpStatus, socks5Reply, type Target } from "../../src/words/mod.ts";
import type { Network } from "../../src/world/mod.ts";
import {
  decodeRequestHead,
  decodeSocks5Credentials,
  decodeSocks5Greeting,
  decodeSocks5Request,
  encodeResponseHead,
  encodeSocks5Choice,
  encodeSocks5Reply,
  encodeSocks5Verdict,
} from "../../src/wire/mod.ts";
import { FakeClock } from "./fake_clock.ts";

export interface ProxyServerOptions {
  readonly protocol: "http" | "socks5";
  /** If set, every client must send these. */
  readonly credentials?: { readonly user: string; readonly password: string };
  /** Bytes sent in the same write as the answer, as when the target sends first. */
  readonly early?: Uint8Array<ArrayBuffer>;
}

/** A small proxy server for tests of upstream transports. It dials the target's host unchanged. */
export class ProxyServer implements AsyncDisposable {
  /** The requested targets, in order. */
  readonly asked: string[] = [];
  readonly #network: Network;
  readonly #options: ProxyServerOptions;
  readonly #tasks = new Tasks(undefined, () => {});
  readonly #close: () => void;
  /** The listen address. */
  readonly endpoint: Endpoint;

  constructor(network: Network, endpoint: Endpoint, options: ProxyServerOptions) {
    this.#network = network;
    this.#options = options;
    const listening = network.listen(endpoint);
    this.#close = () => listening.close();
    this.endpoint = listening.endpoint;
    this.#tasks.spawn(async () => {
      for (let conn = await listening.accept(); conn; conn = await listening.accept()) this.#take(conn);
    });
  }

  #take(conn: Conn): void {
    this.#tasks.spawn(async (signal) => {
      const drop = () => conn.abort(signal.reason);
      signal.addEventListener("abort", drop);
      try {
        const messages = new Messages(conn);
        await (this.#options.protocol === "http"
          ? this.#http(conn, messages, signal)
          : this.#socks5(conn, messages, signal));
      } finally {
        signal.removeEventListener("abort", drop);
        await conn[Symbol.asyncDispose]();
      }
    });
  }

  async #http(conn: Conn, messages: Messages, signal: AbortSignal): Promise<void> {
    const head = await messages.read(decodeRequestHead);
    if (!head) return;
    const { credentials, early } = this.#options;
    this.asked.push(head.target);
    const wanted = credentials && `Basic ${btoa(`${credentials.user}:${credentials.password}`)}`;
    if (wanted && head.fields.get("proxy-authorization") !== wanted) {
      const fields: [string, string][] = [["Proxy-Authenticate", 'Basic realm="test"']];
      return await conn.write(encodeResponseHead({ status: 407, fields }));
    }
    const colon = head.target.lastIndexOf(":");
    const target = { host: head.target.slice(0, colon), port: Number(head.target.slice(colon + 1)) };
    await this.#tunnel(conn, messages, {
      target,
      signal,
      granted: joined(encodeResponseHead({ status: 200, fields: [] }), early),
      refused: (error) => encodeResponseHead({ status: httpStatus(error), fields: [] }),
    });
  }

  async #socks5(conn: Conn, messages: Messages, signal: AbortSignal): Promise<void> {
    const { credentials, early } = this.#options;
    if (!await messages.read(decodeSocks5Greeting)) return;
    await conn.write(encodeSocks5Choice(credentials ? 2 : 0));
    if (credentials) {
      const given = await messages.read(decodeSocks5Credentials);
      const isRight = given?.user === credentials.user && given.password === credentials.password;
      await conn.write(encodeSocks5Verdict(isRight));
      if (!isRight) return;
    }
    const request = await messages.read(decodeSocks5Request);
    if (!request) return;
    this.asked.push(`${request.target.host}:${request.target.port}`);
    await this.#tunnel(conn, messages, {
      target: request.target,
      signal,
      granted: joined(encodeSocks5Reply(0), early),
      refused: (error) => encodeSocks5Reply(socks5Reply(error)),
    });
  }

  async #tunnel(conn: Conn, messages: Messages, { target, signal, granted, refused }: {
    target: Target;
    signal: AbortSignal;
    granted: Uint8Array<ArrayBuffer>;
    refused: (error: unknown) => Uint8Array<ArrayBuffer>;
  }): Promise<void> {
    let onward: Conn;
    try {
      onward = await this.#network.connect(target, { signal });
    } catch (error) {
      return await conn.write(refused(error));
    }
    await conn.write(granted);
    const early = messages.rest();
    if (early.length > 0) await onward.write(early);
    const tally: Tally = { up: 0, down: 0 };
    await relay(conn, onward, { signal, clock: new FakeClock(), tally, halfCloseLinger: 1000 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#close();
    await this.#tasks[Symbol.asyncDispose]();
  }
}

function joined(
  head: Uint8Array<ArrayBuffer>,
  tail: Uint8Array<ArrayBuffer> | undefined,
): Uint8Array<ArrayBuffer> {
  return tail ? new Uint8Array([...head, ...tail]) : head;
}
