import { type Conn, Messages } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import {
  ChunkedDecoder,
  finalHeadDecoder,
  isPersistent,
  responseFraming,
  type ResponseHead,
} from "../../wire/mod.ts";
import { readAnswerBody } from "../../http/mod.ts";

/** A connection to an API server that carries one request after the other (HTTP/1.1). */
export class KubeConnection implements AsyncDisposable {
  /** Whose certificate was shown. */
  readonly identity: string;
  readonly #conn: Conn;
  readonly #messages: Messages;
  /** Who answers, for messages. */
  readonly #from: string;
  #requests = 0;
  #isAnswered = true;

  constructor(conn: Conn, { identity, from }: { readonly identity: string; readonly from: string }) {
    this.#conn = conn;
    this.identity = identity;
    this.#from = from;
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

  /** Sends a request and waits for the head of its answer. */
  async ask(bytes: Uint8Array<ArrayBuffer>): Promise<ResponseHead> {
    this.#requests++;
    this.#isAnswered = false;
    await this.#conn.write(bytes);
    const head = await this.#messages.read(finalHeadDecoder());
    if (!head) {
      const message = `Cannot read an answer of ${this.#from}: it closed`;
      throw new PosternError("unreachable", message, { detail: "reset" });
    }
    this.#isAnswered = true;
    return head;
  }

  /** The whole body of an answer. */
  async body(head: ResponseHead, method: string, limit: number): Promise<Uint8Array<ArrayBuffer>> {
    const framing = responseFraming(head, method);
    return await readAnswerBody(this.#messages, framing, { limit, from: this.#from });
  }

  /** The body piece by piece; each is valid until the next is asked for, undefined is the end. */
  pieces(head: ResponseHead, method: string): () => Promise<Uint8Array<ArrayBuffer> | undefined> {
    const framing = responseFraming(head, method);
    const messages = this.#messages;
    if (framing.kind === "chunked") {
      const decoder = new ChunkedDecoder(502);
      const next = decoder.next.bind(decoder);
      return async () => {
        const part = await messages.read(next);
        if (part?.kind === "data") return part.bytes;
        if (part) return undefined;
        throw new PosternError("unreachable", `Cannot read on from ${this.#from}: it closed in the middle`);
      };
    }
    let left = framing.kind === "length" ? framing.length : framing.kind === "close" ? Infinity : 0;
    return async () => {
      while (left > 0) {
        const bytes = messages.take(left);
        left -= bytes.length;
        if (bytes.length > 0) return bytes;
        if (await messages.fill()) continue;
        if (framing.kind === "close") return undefined;
        throw new PosternError("unreachable", `Cannot read on from ${this.#from}: it closed in the middle`);
      }
      return undefined;
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
