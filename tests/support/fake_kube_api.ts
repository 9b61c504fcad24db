import { type Conn, Messages, relay } from "../../src/core/mod.ts";
import type { Dialer, Listening } from "../../src/world/mod.ts";
import {
  decodeRequestHead,
  encodeChunk,
  encodeLastChunk,
  encodeResponseHead,
  type RequestHead,
} from "../../src/wire/mod.ts";
import { FakeClock } from "./fake_clock.ts";
import { type MemoryConn, memoryPair } from "./memory_conn.ts";

/** A request to the stand-in. */
export interface FakeRequest extends RequestHead {
  /** The path without its query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** The body, parsed as JSON. */
  readonly body: unknown;
  readonly conn: Conn;
}

/** The stand-in's reaction to a request. */
export type FakeAnswer =
  | {
    readonly status: number;
    readonly body?: unknown;
    readonly fields?: readonly (readonly [string, string])[];
  }
  /** A watch: the test's events are sent as lines. */
  | FakeWatch
  /** Raw bytes; the connection stays open. */
  | { readonly raw: string }
  /** Switches to another protocol, carried by a separate connection. */
  | { readonly upgrade: Conn; readonly fields: readonly (readonly [string, string])[] }
  | "silent"
  | "close";

/**
 * Stands in for an API server over connections in memory, for rare behavior of real servers: silence,
 * truncation, duplicate events. It speaks HTTP without TLS and has no knowledge of Kubernetes.
 */
export class FakeKubeApi implements AsyncDisposable {
  readonly requests: FakeRequest[] = [];
  readonly conns: MemoryConn[] = [];
  /** The size of all sent pieces in bytes. */
  pieces = Infinity;
  readonly #answer: (request: FakeRequest) => FakeAnswer | Promise<FakeAnswer>;
  readonly #serving: Promise<void>[] = [];
  readonly #watches = new Set<FakeWatch>();

  constructor(answer: (request: FakeRequest) => FakeAnswer | Promise<FakeAnswer>) {
    this.#answer = answer;
  }

  readonly dial: Dialer = (_target, { signal }) => {
    signal.throwIfAborted();
    const [near, far] = memoryPair();
    this.conns.push(near);
    this.#serving.push(this.#serve(far).catch(() => {}));
    return Promise.resolve(near);
  };

  /** Also accepts clients of a listener until it closes. */
  async listen(listening: Listening): Promise<void> {
    for (let conn = await listening.accept(); conn; conn = await listening.accept()) {
      this.#serving.push(this.#serve(conn).catch(() => {}));
    }
  }

  /** The number of connections that the client has not closed. */
  get open(): number {
    return this.conns.filter((conn) => !conn.isClosed).length;
  }

  /** The requests in order: `GET /api/v1/pods`. */
  get asked(): readonly string[] {
    return this.requests.map(({ method, path }) => `${method} ${path}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const conn of this.conns) conn.abort();
    for (const watch of this.#watches) watch.cut();
    await Promise.all(this.#serving);
  }

  async #serve(conn: Conn): Promise<void> {
    await using _end = conn;
    const messages = new Messages(conn);
    while (true) {
      const head = await messages.read(decodeRequestHead);
      if (!head) return;
      const length = Number(head.fields.get("content-length") ?? 0);
      const body = length === 0
        ? undefined
        : await messages.read((bytes) =>
          bytes.length < length
            ? undefined
            : { value: new TextDecoder().decode(bytes.subarray(0, length)), used: length }
        );
      const url = new URL(head.target, "http://kube");
      const request = { ...head, path: url.pathname, query: url.searchParams, body: bodyOf(body), conn };
      this.requests.push(request);
      const answer = await this.#answer(request);
      if (answer === "close") return;
      if (answer === "silent") {
        await messages.fill();
        return;
      }
      if (answer instanceof FakeWatch) {
        await this.#watch(conn, answer);
        if (answer.isCut) return;
      } else if ("upgrade" in answer) {
        await this.#write(conn, encodeResponseHead({ status: 101, fields: answer.fields }));
        const tally = { up: 0, down: 0 };
        return void await relay(messages.goOn(), answer.upgrade, {
          clock: new FakeClock(),
          tally,
          halfCloseLinger: 1000,
        });
      } else if ("raw" in answer) await this.#write(conn, new TextEncoder().encode(answer.raw));
      else await this.#respond(conn, answer);
    }
  }

  async #respond(
    conn: Conn,
    { status, body, fields = [] }: Exclude<
      FakeAnswer,
      string | FakeWatch | { raw: string } | { upgrade: Conn }
    >,
  ) {
    const text = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body);
    const bytes = new TextEncoder().encode(text);
    await this.#write(
      conn,
      encodeResponseHead({ status, fields: [["Content-Length", String(bytes.length)], ...fields] }),
    );
    await this.#write(conn, bytes);
  }

  async #watch(conn: Conn, watch: FakeWatch): Promise<void> {
    this.#watches.add(watch);
    await this.#write(conn, encodeResponseHead({ status: 200, fields: [["Transfer-Encoding", "chunked"]] }));
    for await (const line of watch.lines()) {
      await this.#write(conn, encodeChunk(new TextEncoder().encode(line)));
    }
    if (!watch.isCut) await this.#write(conn, encodeLastChunk());
  }

  async #write(conn: Conn, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    for (let at = 0; at < bytes.length; at += this.pieces) {
      await conn.write(bytes.slice(at, Math.min(bytes.length, at + this.pieces)));
    }
  }
}

function bodyOf(text: string | undefined): unknown {
  return text === undefined ? undefined : JSON.parse(text);
}

/** A watch whose events the test sends. */
export class FakeWatch {
  readonly #lines: string[] = [];
  #wake: (() => void) | undefined;
  #isEnded = false;
  /** Whether the test cut the connection in the middle. */
  isCut = false;

  constructor(...events: readonly unknown[]) {
    this.say(...events);
  }

  say(...events: readonly unknown[]): void {
    for (const event of events) this.#lines.push(`${JSON.stringify(event)}\n`);
    this.#wake?.();
  }

  /** Sends raw text. */
  raw(text: string): void {
    this.#lines.push(text);
    this.#wake?.();
  }

  /** Ends the response like a server after its timeout. */
  end(): void {
    this.#isEnded = true;
    this.#wake?.();
  }

  /** Closes the connection in the middle of the response. */
  cut(): void {
    this.isCut = true;
    this.end();
  }

  async *lines(): AsyncIterable<string> {
    while (true) {
      const line = this.#lines.shift();
      if (line !== undefined) yield line;
      else if (this.#isEnded) return;
      else await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }
}
