import { asPosternError, describe, formatTarget, type Target } from "../../words/mod.ts";
import { type Conn, type Dialed, joinBytes, type Messages } from "../../core/mod.ts";
import {
  decodeBasic,
  encodeResponseHead,
  Http1Problem,
  requestFraming,
  type RequestHead,
  requestTarget,
} from "../../wire/mod.ts";
import { dialForClient } from "../dial_for_client.ts";
import { lastStation, passwordPage } from "./http_answer.ts";
import { ServedConnection } from "./served_connection.ts";
import { Exchange, type ForwardedRequest } from "./http_exchange.ts";
import { maxForwards } from "./http_forwarding.ts";
import { Origin } from "./http_origin.ts";
import { isForPages, servePages } from "./http_server.ts";
import type { ListenerDeps, ServeOptions } from "../listener.ts";
import { tunnel } from "./tunnel.ts";

/**
 * Serves one client of an HTTP proxy (RFC 9110, RFC 9112). One connection may mix CONNECT, requests in
 * absolute form, and pages for requests in origin form.
 */
export async function serveHttpProxy(
  client: Conn,
  messages: Messages,
  deps: ListenerDeps,
  options: ServeOptions,
): Promise<void> {
  const session = new HttpSession(new ServedConnection(client, messages, deps, options), deps, options);
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

class HttpSession {
  readonly #client: ServedConnection;
  readonly #deps: ListenerDeps;
  readonly #options: ServeOptions;
  /** The origin connection of the last request. */
  #origin: Origin | undefined;

  constructor(client: ServedConnection, deps: ListenerDeps, options: ServeOptions) {
    this.#client = client;
    this.#deps = deps;
    this.#options = options;
  }

  async run(deadline?: Disposable): Promise<void> {
    const { conn, messages } = this.#client;
    const { pages } = this.#deps;
    let head = await this.#client.next(deadline);
    while (head) {
      if (pages && isForPages(head)) {
        head = await servePages(conn, messages, head, pages, this.#deps, this.#options);
      } else {
        head = await this.#serve(head) ? await this.#client.next() : undefined;
      }
    }
  }

  dropOrigin(outcome: string, error?: unknown): void {
    this.#origin?.finish(outcome, error);
    this.#origin = undefined;
  }

  /** Serves one request; returns whether another may follow. */
  async #serve(head: RequestHead): Promise<boolean> {
    try {
      const user = await this.#signedIn(head);
      if (user === false) return await this.#client.answer(passwordPage(), head);
      const wanted = requestTarget(head);
      const framing = requestFraming(head);
      if (wanted.form === "authority") return await this.#connect(wanted.target, user);
      if (wanted.form !== "absolute") {
        throw new Http1Problem(400, "Cannot serve this request: the listener is a proxy, not a web server", {
          hint: "use the address as a proxy: curl -x http://HOST:PORT http://example.com/",
        });
      }
      if (wanted.scheme !== "http" && wanted.scheme !== "ws") {
        throw new Http1Problem(501, `Cannot forward ${wanted.scheme} URLs`, {
          hint: `use CONNECT ${formatTarget(wanted.target)} instead`,
        });
      }
      if (maxForwards(head) === 0) return await this.#client.answer(lastStation(head), head);
      const { target, authority, path } = wanted;
      const keeps = this.#client.mayKeep(head);
      const request = { head: withAuthorization(head, wanted), framing, authority, path, keeps };
      return await this.#forward(request, target, user);
    } catch (error) {
      if (this.#options.signal.aborted) throw error;
      return await this.#client.refuse(error, head);
    }
  }

  /** The user name; undefined without authentication, false for a wrong or missing password. */
  async #signedIn({ fields }: RequestHead): Promise<string | undefined | false> {
    const { auth } = this.#deps;
    if (!auth) return undefined;
    const credentials = decodeBasic(fields.get("proxy-authorization"));
    if (!credentials) return false;
    const { peer } = this.#client.conn;
    const { signal } = this.#options;
    const isRight = await auth.check(credentials.user, credentials.password, { peer, signal });
    return isRight && credentials.user;
  }

  async #connect(target: Target, user: string | undefined): Promise<boolean> {
    this.dropOrigin("done");
    const dialed = await this.#dial(target, user, "connect");
    await this.#tunnel(dialed, connected);
    return false;
  }

  async #forward(request: ForwardedRequest, target: Target, user: string | undefined): Promise<boolean> {
    const origin = await this.#originFor(target, user);
    const { conn, messages } = this.#client;
    const exchange = new Exchange(conn, messages, { origin, request, deps: this.#deps });
    const end = await exchange.run();
    switch (end.kind) {
      case "answered":
        return await this.#afterAnswer(exchange, end);
      case "upgraded":
        return await this.#upgrade(origin, end.reply);
      case "broken":
        this.dropOrigin(end.outcome, end.error);
        // Only an abrupt end tells the client that the body is incomplete.
        this.#client.conn.abort(end.error);
        await exchange.uploaded;
        return false;
      case "unanswered":
        this.dropOrigin("target_gone", end.error);
        // The server closed an idle connection just as the request was sent.
        if (end.mayRepeat) {
          return await this.#forward(request, target, user);
        }
        return await this.#client.refuse(end.error, request.head, exchange.uploaded);
    }
  }

  async #afterAnswer(
    exchange: Exchange,
    { keepsClient, keepsOrigin }: { keepsClient: boolean; keepsOrigin: boolean },
  ): Promise<boolean> {
    if (!keepsClient) {
      this.dropOrigin("done");
      await this.#client.end(none, exchange.uploaded);
      return false;
    }
    const deadline = this.#deps.deadlines.add(1000, () => this.dropOrigin("done"));
    // The client's request is read completely. An origin that answers without reading it must not delay the
    // next request.
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
    const reply = joinBytes([head, early]);
    this.#origin = undefined;
    await this.#tunnel(dialed, reply);
    return false;
  }

  async #originFor(target: Target, user: string | undefined): Promise<Origin> {
    const key = `${user ?? ""}@${formatTarget(target)}`;
    // Read before the dial: a reload during the dial requires another dial.
    const generation = this.#deps.generation?.();
    if (this.#origin?.key === key && this.#origin.generation === generation && this.#origin.isUsable) {
      this.#origin.wake();
      return this.#origin;
    }
    this.dropOrigin("done");
    return this.#origin = new Origin(key, await this.#dial(target, user, "http"), generation);
  }

  #dial(target: Target, user: string | undefined, protocol: string): Promise<Dialed> {
    const { conn, messages } = this.#client;
    const request = { target, client: conn.peer, protocol, ...(user !== undefined && { user }) };
    return dialForClient(conn, messages, request, { deps: this.#deps, signal: this.#options.signal });
  }

  #tunnel(dialed: Dialed, reply: Uint8Array<ArrayBuffer>): Promise<void> {
    const { conn, messages } = this.#client;
    return tunnel(conn, dialed, { deps: this.#deps, reply, messages, signal: this.#options.signal });
  }
}

/**
 * Moves the credentials of the URL to Authorization, as squid does, for clients that leave this to the proxy. A value
 * that the client sends itself takes precedence.
 */
function withAuthorization(
  head: RequestHead,
  { path, authorization }: { readonly path: string; readonly authorization?: string },
): RequestHead {
  if (authorization === undefined) return head;
  const { fields } = head;
  const isSet = fields.has("authorization");
  return { ...head, target: path, fields: isSet ? fields : fields.with("Authorization", authorization) };
}

const none = new Uint8Array();
