import { type Bytes, type Conn, Messages } from "../core/mod.ts";
import { isPersistent, responseFraming, type ResponseHead } from "../wire/mod.ts";
import { readFinalHead } from "./final_head.ts";
import { HttpBody, readBody } from "./http_body.ts";

export interface HttpConnectionOptions {
  /** Who answers, for messages. */
  readonly from: string;
  /** What it was made for: a request with another key needs another connection. */
  readonly key?: string;
  /** What a connection that is closed before an answer is; `unreachable` when absent. */
  readonly closed?: "protocol" | "unreachable" | undefined;
}

/** A connection to a server that carries one request after the other (HTTP/1.1). */
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

  /** Whether it has carried a request before: then the server may have closed it without our fault. */
  get wasUsed(): boolean {
    return this.#requests > 1;
  }

  /** Whether anything of the answer to the last request has come. */
  get isAnswered(): boolean {
    return this.#isAnswered || this.#messages.pending.length > 0;
  }

  /** Sends a request and waits for the head of its final answer. */
  async ask(bytes: Bytes): Promise<ResponseHead> {
    this.#requests++;
    this.#isAnswered = false;
    await this.#conn.write(bytes);
    const onInterim = () => Promise.resolve(void (this.#isAnswered = true));
    const head = await readFinalHead(this.#messages, { ...this.#options, onInterim });
    this.#isAnswered = true;
    return head;
  }

  /** The whole body of an answer. */
  async body(head: ResponseHead, method: string, limit: number): Promise<Bytes> {
    const { from } = this.#options;
    return await readBody(this.#messages, responseFraming(head, method), { limit, from });
  }

  /** The body piece by piece; each is valid until the next is asked for, undefined is the end. */
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

  /** Whether another request may follow an answer that was read to its end. */
  canGoOn(head: ResponseHead): boolean {
    return isPersistent(head) && this.#messages.pending.length === 0 && !this.#messages.isEnded;
  }

  /** Resolves when an idle connection is of no use any more: closed, or spoken on without being asked. */
  async ended(): Promise<void> {
    await this.#messages.fill().catch(() => false);
  }

  /** Leaves HTTP: what came early is read first. */
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
