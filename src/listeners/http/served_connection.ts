import { asPosternError, describe } from "../../words/mod.ts";
import type { Conn, Messages } from "../../core/mod.ts";
import { Http1Problem, isPersistent, type RequestHead } from "../../wire/mod.ts";
import { answerBytes } from "./http_answer.ts";
import { requestHead } from "./head_room.ts";
import { lastWords } from "./last_words.ts";
import { handshakeDeadline, headLimits, type ListenerDeps, type ServeOptions } from "../listener.ts";
import { isAskedAgain } from "./next_request.ts";
import { errorPage, type WholePage } from "../pages/page.ts";

const keepAlive = 60_000;

export interface AnswerOptions {
  /** The pending read of the request's body. */
  readonly reading?: Promise<void> | undefined;
  /** Whether the connection closes after this answer. */
  readonly isLast?: boolean;
}

/** The client side of an HTTP connection: reads its requests and sends answers of the proxy itself. */
export class ServedConnection {
  readonly conn: Conn;
  readonly messages: Messages;
  readonly #deps: ListenerDeps;
  readonly #options: ServeOptions;

  constructor(conn: Conn, messages: Messages, deps: ListenerDeps, options: ServeOptions) {
    this.conn = conn;
    this.messages = messages;
    this.#deps = deps;
    this.#options = options;
  }

  /**
   * The next request; undefined when the client closed, was idle too long, or sent an invalid head.
   * `deadline` applies to the first request.
   */
  async next(deadline?: Disposable): Promise<RequestHead | undefined> {
    if (!deadline && this.messages.pending.length === 0 && !await this.#isAskedAgain()) return undefined;
    const limit = deadline ?? handshakeDeadline(this.conn, this.#deps, this.#options);
    using head = requestHead(headLimits(this.#deps.limits));
    try {
      return await this.messages.read(head.decode, head);
    } catch (error) {
      // A client that left in the middle of a head may still be reading the previous answer.
      if (this.messages.isEnded) return undefined;
      if (!(error instanceof Http1Problem)) throw error;
      head[Symbol.dispose]();
      await this.refuse(error, undefined);
      return undefined;
    } finally {
      limit[Symbol.dispose]();
    }
  }

  /** Answers with the error; returns whether another request may follow. */
  async refuse(error: unknown, head: RequestHead | undefined, reading?: Promise<void>): Promise<boolean> {
    const { code, detail } = asPosternError(error);
    const isFull = detail === "overloaded";
    const fields = { client: this.conn.peer, protocol: "http", reason: describe(error) };
    if (error instanceof Http1Problem && error.status < 500) this.#deps.log.info("client.refused", fields);
    else if (code === "internal" && !isFull) this.#deps.log.error("client.failed", fields);
    // Bytes after a CONNECT are for its target and must never be read as a request.
    const isLast = isFull || head?.method.toUpperCase() === "CONNECT";
    return await this.answer(errorPage(error), head, { isLast, reading });
  }

  /**
   * Sends an answer of the proxy itself; returns whether another request may follow (never without a head).
   */
  async answer(
    page: WholePage,
    head: RequestHead | undefined,
    { reading, isLast = false }: AnswerOptions = {},
  ): Promise<boolean> {
    const keeps = head !== undefined && !isLast && this.mayKeep(head) && !hasMore(head, this.messages);
    const bytes = answerBytes(page, { method: head?.method, keeps, date: this.#deps.clock.date() });
    if (keeps) await this.conn.write(bytes);
    else await this.end(bytes, reading);
    return keeps;
  }

  /** Sends the last bytes and closes. */
  async end(bytes: Uint8Array<ArrayBuffer>, reading?: Promise<void>): Promise<void> {
    await lastWords(this.conn, this.messages, bytes, { deps: this.#deps, reading });
  }

  /** Whether the connection may stay open after a request. */
  mayKeep(head: RequestHead): boolean {
    return isPersistent(head) && !this.#options.draining?.aborted;
  }

  #isAskedAgain(): Promise<boolean> {
    const { deadlines, limits } = this.#deps;
    const { draining } = this.#options;
    return isAskedAgain(this.conn, this.messages, {
      deadlines,
      idle: limits.keepAlive ?? keepAlive,
      draining,
    });
  }
}

/** Whether unread bytes of this request may precede the next one. */
function hasMore({ method, fields }: RequestHead, messages: Messages): boolean {
  if (method === "CONNECT") return messages.pending.length > 0;
  return fields.has("content-length") || fields.has("transfer-encoding");
}
