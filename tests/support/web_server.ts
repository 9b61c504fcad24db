import { type Conn, Messages } from "../../src/core/mod.ts";
import type { Listening } from "../../src/world/mod.ts";
import { PosternError } from "../../src/words/mod.ts";
import { decodeRequestHead, encodeResponseHead, type Fields, requestFraming } from "../../src/wire/mod.ts";

/** A request to a `WebServer`. */
export interface WebRequest {
  readonly method: string;
  /** The path with its query, on a fictional host. */
  readonly url: URL;
  readonly fields: Fields;
  readonly body: string;
}

/** An answer; bytes are sent unchanged, and "silent" sends no answer. */
export type WebAnswer =
  | {
    readonly status?: number;
    readonly fields?: readonly (readonly [string, string])[];
    readonly body?: string;
  }
  | Uint8Array<ArrayBuffer>
  | "silent";

/** Bytes after which the connection resets. */
export interface TornAnswer {
  readonly torn: Uint8Array<ArrayBuffer>;
}

type Answerer = (request: WebRequest) => WebAnswer | TornAnswer | Promise<WebAnswer | TornAnswer>;

/** A small web server on a memory or a real network: one request per connection. */
export class WebServer implements AsyncDisposable {
  readonly port: number;
  /** Every request, in order. */
  readonly requests: WebRequest[] = [];
  readonly #listening: Listening;
  readonly #serving = new Set<Promise<void>>();
  readonly #conns = new Set<Conn>();
  readonly #accepting: Promise<void>;

  constructor(listening: Listening, answer: Answerer) {
    this.#listening = listening;
    this.port = "port" in listening.endpoint ? listening.endpoint.port : 0;
    this.#accepting = this.#accept(answer);
  }

  async #accept(answer: Answerer): Promise<void> {
    for (let conn = await this.#listening.accept(); conn; conn = await this.#listening.accept()) {
      const client = conn;
      this.#conns.add(client);
      const serving = this.#serve(client, answer).catch(() => {}).finally(() => {
        this.#conns.delete(client);
        this.#serving.delete(serving);
        return client[Symbol.asyncDispose]();
      });
      this.#serving.add(serving);
    }
  }

  async #serve(conn: Conn, answer: Answerer): Promise<void> {
    const messages = new Messages(conn);
    const head = await messages.read(decodeRequestHead);
    if (!head) return;
    const framing = requestFraming(head);
    const length = framing.kind === "length" ? framing.length : 0;
    while (messages.pending.length < length && await messages.fill());
    const body = new TextDecoder().decode(messages.take(length));
    const request = {
      method: head.method,
      url: new URL(head.target, "http://server"),
      fields: head.fields,
      body,
    };
    this.requests.push(request);
    const given = await answer(request);
    if (given === "silent") {
      while (await messages.fill()) messages.take(1000);
      return;
    }
    if ("torn" in given) {
      await conn.write(given.torn);
      return conn.abort(new PosternError("unreachable", "The server reset the connection"));
    }
    await conn.write(given instanceof Uint8Array ? given : answerBytes(given));
    await conn.closeWrite();
    while (await messages.fill()) messages.take(1000);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listening.close();
    await this.#accepting;
    for (const conn of this.#conns) conn.abort();
    await Promise.all(this.#serving);
  }
}

function answerBytes(
  { status = 200, fields = [], body = "" }: Exclude<WebAnswer, Uint8Array | "silent">,
) {
  const content = new TextEncoder().encode(body);
  const head = encodeResponseHead({
    status,
    fields: [...fields, ["Content-Length", String(content.length)]],
  });
  return new Uint8Array([...head, ...content]);
}

/** Returns JSON as an answer. */
export function jsonAnswer(value: unknown, status = 200): WebAnswer {
  return { status, fields: [["Content-Type", "application/json"]], body: JSON.stringify(value) };
}
