import { asPosternError, describe, PosternError } from "../../words/mod.ts";
import { type Clock, type Conn, type Deadlines, joinBytes, type Log, type Messages } from "../../core/mod.ts";
import {
  encodeChunk,
  encodeLastChunk,
  encodeResponseHead,
  Http1Problem,
  isPersistent,
  requestFraming,
  type RequestHead,
} from "../../wire/mod.ts";
import { answerBytes, answerHead, serverWide } from "./http_answer.ts";
import { readBody } from "../../http/mod.ts";
import { type HeadLimits, headLimits, type Unheard } from "../listener.ts";
import { freeHead, requestHead } from "./head_room.ts";
import { lastWords } from "./last_words.ts";
import { isAskedAgain } from "./next_request.ts";
import {
  errorPage,
  type PageAccess,
  type PageRequest,
  type PageResponse,
  type Pages,
} from "../pages/page.ts";

export interface PageDeps {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly log: Log;
  /** Time limits in ms for a request (10 s) and an idle connection (60 s); size of a head in bytes (64 KiB). */
  readonly limits?:
    | { readonly handshake?: number; readonly keepAlive?: number; readonly head?: number }
    | undefined;
}

export interface ServePagesOptions {
  /** Passed to the pages. The code that aborts it also drops the client. */
  readonly signal: AbortSignal;
  /** Aborts when the listener drains: an idle connection is closed, a busy one closes after its answer. */
  readonly draining?: AbortSignal;
  /** See `ServeOptions`. */
  readonly unheard?: Unheard;
  /** Default: `listener`. */
  readonly access?: PageAccess;
  /** Serves a client whose request is not for a page; by default it is refused. */
  readonly other?: (head: RequestHead) => Promise<void>;
}

const mostBody = 64 * 1024;
const none = new Uint8Array();

/** Whether a request is for a page of the listener, not for the proxy. */
export function isForPages({ method, target }: RequestHead): boolean {
  return target.startsWith("/") || (target === "*" && method === "OPTIONS");
}

/**
 * Serves requests for pages, starting with `firstHead` if it was already read. Returns the first head that is
 * not for a page, or undefined at the end of the connection. The caller disposes the connection.
 */
export async function servePages(
  conn: Conn,
  messages: Messages,
  firstHead: RequestHead | undefined,
  pages: Pages,
  deps: PageDeps,
  options: ServePagesOptions,
): Promise<RequestHead | undefined> {
  const server = new PageServer(conn, messages, deps, options);
  let head = firstHead ?? await server.nextHead();
  while (head && isForPages(head)) {
    if (!await server.answer(head, pages)) {
      await server.end();
      return undefined;
    }
    head = await server.nextHead();
  }
  return head;
}

/** Serves a client that may only request pages (and `other`), until the connection ends. */
export async function serveOnlyPages(
  conn: Conn,
  messages: Messages,
  pages: Pages,
  deps: PageDeps,
  options: ServePagesOptions,
): Promise<void> {
  try {
    const other = await servePages(conn, messages, undefined, pages, deps, options);
    if (!other) return;
    if (options.other) return await options.other(other);
    const server = new PageServer(conn, messages, deps, options);
    await server.refuse(
      new PosternError("usage", "Cannot serve as a proxy on this listener", {
        hint: "request a path, not a URL",
      }),
    );
  } catch (error) {
    // Internal errors were logged where they happened.
    deps.log.debug("client.gone", { client: conn.peer, reason: describe(error) });
  } finally {
    await conn[Symbol.asyncDispose]();
  }
}

class PageServer {
  readonly #conn: Conn;
  readonly #messages: Messages;
  readonly #deps: PageDeps;
  readonly #options: ServePagesOptions;
  readonly #arrive: number;
  readonly #idle: number;
  readonly #head: HeadLimits;

  constructor(conn: Conn, messages: Messages, deps: PageDeps, options: ServePagesOptions) {
    this.#conn = conn;
    this.#messages = messages;
    this.#deps = deps;
    this.#options = options;
    this.#arrive = deps.limits?.handshake ?? 10_000;
    this.#idle = deps.limits?.keepAlive ?? 60_000;
    const head = deps.limits?.head;
    // listen.limits.head does not apply to the control socket, so its errors must not name it.
    this.#head = head === undefined ? { head: freeHead, line: freeHead } : headLimits({ head });
  }

  /** The next request; undefined when the client closed, was idle too long, or sent an invalid head. */
  async nextHead(): Promise<RequestHead | undefined> {
    const { unheard } = this.#options;
    unheard?.add(this.#conn);
    using head = requestHead(this.#head);
    try {
      if (this.#messages.pending.length === 0 && !await this.#isAskedAgain()) return undefined;
      return await this.#within(this.#arrive, "the request", () => this.#messages.read(head.decode, head));
    } catch (error) {
      if (!(error instanceof Http1Problem)) throw error;
      head[Symbol.dispose]();
      await this.refuse(error);
      return undefined;
    } finally {
      unheard?.delete(this.#conn);
    }
  }

  /** Answers one request; false if the connection must close. */
  async answer(head: RequestHead, pages: Pages): Promise<boolean> {
    let keep = isPersistent(head);
    let response: PageResponse;
    try {
      const body = await this.#body(head);
      const request = {
        ...pageRequest(head, this.#conn.local),
        body,
        access: this.#options.access ?? "listener",
      };
      response = head.target === "*" ? serverWide : await this.#ask(pages, request);
    } catch (error) {
      // The body was not read completely, so the start of the next request is unknown.
      if (!(error instanceof Http1Problem)) throw error;
      keep = false;
      response = errorPage(error);
    }
    keep &&= !this.#options.draining?.aborted;
    return await this.#send(response, head, keep);
  }

  async refuse(error: unknown): Promise<void> {
    await this.#send(errorPage(error), undefined, false);
    await this.end();
  }

  /** Lets the client read the last answer, then closes. */
  async end(): Promise<void> {
    await lastWords(this.#conn, this.#messages, none, { deps: this.#deps });
  }

  #isAskedAgain(): Promise<boolean> {
    const { deadlines } = this.#deps;
    const { draining } = this.#options;
    return isAskedAgain(this.#conn, this.#messages, { deadlines, idle: this.#idle, draining });
  }

  async #body(head: RequestHead): Promise<Uint8Array<ArrayBuffer>> {
    const framing = requestFraming(head);
    const isTooLarge = framing.kind === "length" && framing.length > mostBody;
    // An HTTP/1.0 client does not know interim responses (RFC 9110, section 10.1.1).
    const mayWait = head.version === "1.1" && head.fields.tokens("expect").includes("100-continue");
    if (framing.kind !== "none" && !isTooLarge && mayWait) {
      await this.#write(encodeResponseHead({ status: 100, fields: [] }));
    }
    return await this.#within(
      this.#arrive,
      "the request's body",
      () => readBody(this.#messages, framing, { limit: mostBody }),
    );
  }

  async #ask(pages: Pages, request: PageRequest): Promise<PageResponse> {
    try {
      return await pages(request, { signal: this.#options.signal });
    } catch (error) {
      if (asPosternError(error).code === "internal") {
        this.#deps.log.error("page.failed", { path: request.path, reason: describe(error) });
      }
      return errorPage(error);
    }
  }

  async #send(page: PageResponse, request: RequestHead | undefined, keep: boolean): Promise<boolean> {
    const { body } = page;
    const method = request?.method;
    const date = this.#deps.clock.date();
    if (typeof body === "string" || body instanceof Uint8Array) {
      await this.#write(answerBytes({ ...page, body }, { method, keeps: keep, date }));
      return keep;
    }
    const isChunked = request?.version === "1.1";
    const keeps = keep && isChunked;
    const framing = isChunked ? [["Transfer-Encoding", "chunked"] as const] : [];
    await this.#write(answerHead(page, framing, { method, keeps, date }));
    await this.#sendStream(body, method !== "HEAD", isChunked);
    return keeps;
  }

  /** Aborts the connection after a failed stream, so that the client does not take it for complete. */
  async #sendStream(
    stream: AsyncIterable<Uint8Array>,
    hasBody: boolean,
    isChunked: boolean,
  ): Promise<void> {
    const pieces = stream[Symbol.asyncIterator]();
    if (!hasBody) return void await pieces.return?.();
    try {
      for await (const piece of { [Symbol.asyncIterator]: () => pieces }) {
        if (piece.length > 0) {
          await this.#write(isChunked ? encodeChunk(piece) : joinBytes([piece]));
        }
      }
    } catch (error) {
      if (asPosternError(error).code === "internal") {
        this.#deps.log.warn("page.broken", { client: this.#conn.peer, reason: describe(error) });
      }
      this.#conn.abort(error);
      throw error;
    }
    if (isChunked) await this.#write(encodeLastChunk());
  }

  #write(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    return this.#within(this.#idle, "the client to read", () => this.#conn.write(bytes));
  }

  async #within<T>(ms: number, what: string, work: () => Promise<T>): Promise<T> {
    const deadline = this.#deps.deadlines.add(ms, () => {
      this.#conn.abort(new PosternError("timeout", `Cannot wait longer than ${ms} ms for ${what}`));
    });
    try {
      return await work();
    } finally {
      deadline[Symbol.dispose]();
    }
  }
}

function pageRequest(
  { method, target, fields }: RequestHead,
  local: string | undefined,
): Omit<PageRequest, "body" | "access"> {
  const mark = target.indexOf("?");
  const path = mark < 0 ? target : target.slice(0, mark);
  const query = new URLSearchParams(mark < 0 ? "" : target.slice(mark));
  return { method, path, query, fields, ...(local === undefined ? {} : { local }) };
}
