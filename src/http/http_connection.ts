import { type Bytes, type Conn, Messages } from "../core/mod.ts";
import { isPersistent, responseFraming, type ResponseHead } from "../wire/mod.ts";
import { readFinalHead } from "./final_head.ts";
import { HttpBody, readBody } from "./http_body.ts";

export interface HttpConnectionOptions {
  /** The server's name for messages. */
  readonly from: string;
  /** Identifies the connection's settings: a request with another key needs another connection. */
  readonly key?: string;
  /** The error code for a connection closed before a response (default: `unreachable`). */
  readonly closed?: "protocol" | "unreachable" | undefined;
}

/** A connection to a server that carries one request after another (HTTP/1.1). */
export class HttpConnection implements AsyncDisposable {
  readonly key: string;
  readonly #conn: Conn;
  readonly #messages: Messages;
  readonly #options: HttpConnectionOptions;
  #requests = 0;
  #isAnswered = true;

  constructor(conn: Conn, options: HttpConnectionOptions) {
    this.#conn = conn;
    this.#options = options;
    this.key = options.key ?? "";
    this.#messages = new Messages(conn);
  }

  /** Whether it has carried an earlier request; then the server may have closed it while idle. */
  get wasUsed(): boolean {
    return this.#requests > 1;
  }

  /** Whether any part of the response to the last request has arrived. */
  get isAnswered(): boolean {
    return this.#isAnswered || this.#messages.pending.length > 0;
  }

  /** Sends a request and returns the head of its final response. */
  async ask(bytes: Bytes): Promise<ResponseHead> {
    this.#requests++;
    this.#isAnswered = false;
    await this.#conn.write(bytes);
    const onInterim = () => Promise.resolve(void (this.#isAnswered = true));
    const head = await readFinalHead(this.#messages, { ...this.#options, onInterim });
    this.#isAnswered = true;
    return head;
  }

  async body(head: ResponseHead, method: string, limit: number): Promise<Bytes> {
    const { from } = this.#options;
    return await readBody(this.#messages, responseFraming(head, method), { limit, from });
  }

  /**
   * Returns a function that reads the body in pieces, undefined at the end. Each piece is valid until the
   * next call.
   */
  pieces(head: ResponseHead, method: string): () => Promise<Bytes | undefined> {
    const { from } = this.#options;
    const messages = this.#messages;
    const body = new HttpBody(messages, responseFraming(head, method), { from, endedEarly: "unreachable" });
    return async () => {
      while (true) {
        const bytes = body.take();
        if (bytes || body.isEnded) return bytes;
        if (!await messages.fill()) body.end();
      }
    };
  }

  /** Whether the connection can carry another request after a fully read response. */
  canGoOn(head: ResponseHead): boolean {
    return isPersistent(head) && this.#messages.pending.length === 0 && !this.#messages.isEnded;
  }

  /** Resolves when an idle connection becomes unusable: closed, or data without a request. */
  async ended(): Promise<void> {
    await this.#messages.fill().catch(() => false);
  }

  /** Leaves HTTP and returns the connection; bytes that came early are read first. */
  goOn(): Conn {
    return this.#messages.goOn();
  }

  abort(reason: unknown): void {
    this.#conn.abort(reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#conn[Symbol.asyncDispose]();
  }
}
