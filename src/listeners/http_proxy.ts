import {
  asPosternError,
  type Conn,
  describe,
  formatTarget,
  type Messages,
  PosternError,
  type Target,
} from "../core/mod.ts";
import {
  decodeBasic,
  decodeRequestHead,
  encodeResponseHead,
  Http1Problem,
  isPersistent,
  requestFraming,
  type RequestHead,
  requestTarget,
} from "../wire/mod.ts";
import { joined } from "./http_body.ts";
import { answerBytes, passwordPage } from "./http_answer.ts";
import { Exchange, type ForwardedRequest } from "./http_exchange.ts";
import { Origin } from "./http_origin.ts";
import { isForPages, servePages } from "./http_server.ts";
import { lastWords } from "./last_words.ts";
import { handshakeDeadline, type ListenerDeps, type ServeOptions } from "./listener.ts";
import { errorPage, type PageResponse } from "./page.ts";
import { tunnel } from "./tunnel.ts";

/**
 * Serves one client of an HTTP proxy (RFC 9110, RFC 9112): CONNECT, requests in absolute form one after another,
 * and pages for requests in origin form, mixed on one connection.
 */
export async function serveHttpProxy(
  client: Conn,
  messages: Messages,
  deps: ListenerDeps,
  options: ServeOptions,
): Promise<void> {
  const session = new HttpSession(client, messages, deps, options);
  try {
    await session.run(options.deadline);
  } catch (error) {
    const isOurs = asPosternError(error).code === "internal";
    deps.log[isOurs ? "error" : "debug"](isOurs ? "client.failed" : "client.gone", {
      client: client.peer,
      protocol: "http",
      reason: describe(error),
    });
    client.abort(error);
    session.dropOrigin("client_gone", error);
  } finally {
    session.dropOrigin("done");
    await client[Symbol.asyncDispose]();
  }
}

const connected = encodeResponseHead({ status: 200, reason: "Connection established", fields: [] });
const keepAlive = 60_000;
/** Requests that may be sent twice (RFC 9110, section 9.2.2). */
const repeatable: readonly string[] = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"];

class HttpSession {
  readonly #client: Conn;
  readonly #messages: Messages;
  readonly #deps: ListenerDeps;
  readonly #options: ServeOptions;
  /** The connection that the last request went to. */
  #origin: Origin | undefined;

  constructor(client: Conn, messages: Messages, deps: ListenerDeps, options: ServeOptions) {
    this.#client = client;
    this.#messages = messages;
    this.#deps = deps;
    this.#options = options;
  }

  async run(deadline?: Disposable): Promise<void> {
    let head = await this.#nextHead(deadline);
    while (head) {
      if (isForPages(head) && this.#deps.pages) {
        head = await servePages(
          this.#client,
          this.#messages,
          head,
          this.#deps.pages,
          this.#deps,
          this.#options,
        );
      } else {
        head = await this.#serve(head) ? await this.#nextHead() : undefined;
      }
    }
  }

  dropOrigin(outcome: string, error?: unknown): void {
    this.#origin?.finish(outcome, error);
    this.#origin = undefined;
  }

  /** Undefined when the client has ended, was idle for too long, or was told that its head is wrong. */
  async #nextHead(first?: Disposable): Promise<RequestHead | undefined> {
    if (!first && this.#messages.pending.length === 0 && !await this.#waitForClient()) return undefined;
    const deadline = first ?? handshakeDeadline(this.#client, this.#deps);
    try {
      return await this.#messages.read(decodeRequestHead);
    } catch (error) {
      // A client that left in the middle of a head may still be reading the answer before.
      if (this.#messages.isEnded) return undefined;
      if (!(error instanceof Http1Problem)) throw error;
      await this.#refuse(error, undefined);
      return undefined;
    } finally {
      deadline[Symbol.dispose]();
    }
  }

  async #waitForClient(): Promise<boolean> {
    const { draining } = this.#options;
    if (draining?.aborted) return false;
    const enough = new PosternError("cancelled", "No further request is wanted on this connection");
    const drop = () => this.#client.abort(enough);
    draining?.addEventListener("abort", drop, { once: true });
    const deadline = this.#deps.deadlines.add(this.#deps.limits.keepAlive ?? keepAlive, drop);
    try {
      return await this.#messages.fill();
    } catch (error) {
      if (error !== enough) throw error;
      return false;
    } finally {
      deadline[Symbol.dispose]();
      draining?.removeEventListener("abort", drop);
    }
  }

  /** Serves one request; whether another one may follow. */
  async #serve(head: RequestHead): Promise<boolean> {
    try {
      const user = await this.#signedIn(head);
      if (user === false) return await this.#answer(passwordPage(), head);
      const wanted = requestTarget(head);
      const framing = requestFraming(head);
      if (wanted.form === "authority") return await this.#connect(wanted.target, user);
      if (wanted.form !== "absolute") {
        throw new Http1Problem(400, "Cannot serve a request for this server: it is a proxy", {
          hint: "use it as a proxy: curl -x http://HOST:PORT http://example.com/",
        });
      }
      if (wanted.scheme !== "http" && wanted.scheme !== "ws") {
        throw new Http1Problem(501, `Cannot fetch ${wanted.scheme} URLs for a client`, {
          hint: `ask for CONNECT ${formatTarget(wanted.target)} and speak to the server through it`,
        });
      }
      const { target, authority, path } = wanted;
      const keeps = this.#mayKeep(head);
      return await this.#forward({ head, framing, authority, path, keeps }, target, user);
    } catch (error) {
      if (this.#options.signal.aborted) throw error;
      return await this.#refuse(error, head);
    }
  }

  /** The user's name; undefined where nobody is asked, false where the password is wrong or missing. */
  async #signedIn({ fields }: RequestHead): Promise<string | undefined | false> {
    const { auth } = this.#deps;
    if (!auth) return undefined;
    const credentials = decodeBasic(fields.get("proxy-authorization"));
    if (!credentials) return false;
    const { peer } = this.#client;
    const { signal } = this.#options;
    const isRight = await auth.check(credentials.user, credentials.password, { peer, signal });
    return isRight && credentials.user;
  }

  async #connect(target: Target, user: string | undefined): Promise<boolean> {
    const { signal } = this.#options;
    this.dropOrigin("done");
    const dialed = await this.#deps.dial(this.#request(target, user, "connect"), { signal });
    await tunnel(this.#client, dialed, {
      deps: this.#deps,
      reply: connected,
      early: this.#messages.rest(),
      signal,
    });
    return false;
  }

  async #forward(request: ForwardedRequest, target: Target, user: string | undefined): Promise<boolean> {
    const origin = await this.#originFor(target, user);
    const { isReused } = origin;
    const exchange = new Exchange(this.#client, this.#messages, { origin, request, deps: this.#deps });
    const end = await exchange.run();
    switch (end.kind) {
      case "answered":
        return await this.#afterAnswer(exchange, end);
      case "upgraded":
        return await this.#upgrade(origin, end.reply);
      case "broken":
        this.dropOrigin(end.outcome, end.error);
        // An abrupt end is the only way left to say that the body is not whole.
        this.#client.abort(end.error);
        await exchange.uploaded;
        return false;
      case "unanswered":
        this.dropOrigin("target_gone", end.error);
        // A server may close a connection at rest just when the next request is on its way.
        if (isReused && isRepeatable(request) && !(end.error instanceof Http1Problem)) {
          return await this.#forward(request, target, user);
        }
        return await this.#refuse(end.error, request.head, exchange.uploaded);
    }
  }

  async #afterAnswer(
    exchange: Exchange,
    { keepsClient, keepsOrigin }: { keepsClient: boolean; keepsOrigin: boolean },
  ): Promise<boolean> {
    if (!keepsClient) {
      this.dropOrigin("done");
      await this.#end(none, exchange.uploaded);
      return false;
    }
    const deadline = this.#deps.deadlines.add(1000, () => this.dropOrigin("done"));
    // All that the client sent has been read: an origin that answers without taking it must not hold up the next request.
    await exchange.uploaded;
    deadline[Symbol.dispose]();
    if (keepsOrigin) this.#origin?.rest();
    else this.dropOrigin("done");
    return true;
  }

  async #upgrade(origin: Origin, head: Uint8Array<ArrayBuffer>): Promise<boolean> {
    const { dialed } = origin;
    const early = origin.messages.rest();
    dialed.tally.down += early.length;
    const reply = joined([head, early], head.length + early.length);
    this.#origin = undefined;
    const { signal } = this.#options;
    await tunnel(this.#client, dialed, { deps: this.#deps, reply, early: this.#messages.rest(), signal });
    return false;
  }

  async #originFor(target: Target, user: string | undefined): Promise<Origin> {
    const key = `${user ?? ""}@${formatTarget(target)}`;
    if (this.#origin?.key === key && this.#origin.isUsable) {
      this.#origin.wake();
      return this.#origin;
    }
    this.dropOrigin("done");
    const { signal } = this.#options;
    const dialed = await this.#deps.dial(this.#request(target, user, "http"), { signal });
    return this.#origin = new Origin(key, dialed);
  }

  #request(target: Target, user: string | undefined, protocol: string): Parameters<ListenerDeps["dial"]>[0] {
    const request = { target, client: this.#client.peer, protocol };
    return user === undefined ? request : { ...request, user };
  }

  async #refuse(error: unknown, head: RequestHead | undefined, reading?: Promise<void>): Promise<boolean> {
    if (error instanceof Http1Problem && error.status < 500) {
      this.#deps.log.info("client.refused", {
        client: this.#client.peer,
        protocol: "http",
        reason: describe(error),
      });
    }
    const { code, detail } = asPosternError(error);
    const isFull = detail === "overloaded";
    if (code === "internal" && !isFull) {
      this.#deps.log.error("client.failed", {
        client: this.#client.peer,
        protocol: "http",
        reason: describe(error),
      });
    }
    // What follows a CONNECT is for its target, and must never be read as a request.
    const isLast = isFull || head?.method === "CONNECT";
    return await this.#answer(errorPage(error), isLast ? undefined : head, reading);
  }

  /** Answers for the door itself; whether another request may follow, which nobody can tell where `head` is missing. */
  async #answer(
    page: PageResponse,
    head: RequestHead | undefined,
    reading?: Promise<void>,
  ): Promise<boolean> {
    const isAhead = head?.method === "CONNECT" && this.#messages.pending.length > 0;
    const keeps = head !== undefined && this.#mayKeep(head) && requestHasNoBody(head) && !isAhead;
    const bytes = answerBytes(page, { method: head?.method, keeps, date: this.#deps.clock.date() });
    if (keeps) await this.#client.write(bytes);
    else await this.#end(bytes, reading);
    return keeps;
  }

  async #end(bytes: Uint8Array<ArrayBuffer>, reading?: Promise<void>): Promise<void> {
    await lastWords(this.#client, this.#messages, bytes, { deps: this.#deps, reading });
  }

  #mayKeep(head: RequestHead): boolean {
    return isPersistent(head) && !this.#options.draining?.aborted;
  }
}

const none = new Uint8Array();

function isRepeatable({ framing, head }: ForwardedRequest): boolean {
  return framing.kind === "none" && repeatable.includes(head.method);
}

/** Of a request that was refused before its framing was read. */
function requestHasNoBody({ fields }: RequestHead): boolean {
  return !fields.has("content-length") && !fields.has("transfer-encoding");
}
