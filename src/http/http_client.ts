import { type Bytes, type Clock, type Conn, within } from "../core/mod.ts";
import type { Dialer, Network } from "../world/mod.ts";
import { formatTarget, PosternError, type Target, targetOf } from "../words/mod.ts";
import type { BasicCredentials, Fields } from "../wire/mod.ts";
import { directDialer } from "./direct_dialer.ts";
import { httpConnect, proxyAuthorization } from "./http_connect.ts";
import { HttpConnection } from "./http_connection.ts";
import { encodeRequest } from "./http_request.ts";
import { abortable, orDrop } from "./abortable.ts";

export interface HttpClientParts {
  readonly clock: Clock;
  readonly network: Pick<Network, "connect" | "lookup" | "secure">;
  /** How its connections are made; from this machine when absent. */
  readonly dial?: Dialer | undefined;
}

/** A proxy that an `HttpClient` goes through. */
export interface HttpProxy {
  /** Whether TLS is spoken with the proxy itself. */
  readonly scheme: "http" | "https";
  readonly host: string;
  readonly port: number;
  readonly credentials?: BasicCredentials;
}

export interface HttpClientOptions {
  /** PEM certificates trusted besides the system's. */
  readonly ca?: string | undefined;
  /** A proxy to go through: by a tunnel for https, by the whole URL for http. Nothing goes past it. */
  readonly proxy?: HttpProxy;
  /** How long one exchange may take, in ms; 30 s unless told. */
  readonly timeout?: number | undefined;
  /** The most bytes of an answer; 1 MiB unless told. */
  readonly limit?: number;
}

export interface HttpRequest {
  readonly url: URL;
  /** GET unless told. */
  readonly method?: string;
  readonly fields?: Iterable<readonly [name: string, value: string]>;
  readonly body?: string | Bytes;
  /** How many redirects may be followed; none unless told. Only GET and HEAD are asked again. */
  readonly redirects?: number;
  /** In place of the client's own. */
  readonly limit?: number;
  /** Reads no more than the head of the answer: its body is empty then. */
  readonly isHeadEnough?: boolean;
}

export interface HttpAnswer {
  /** Who answered in the end. */
  readonly url: URL;
  readonly status: number;
  readonly fields: Fields;
  readonly body: Bytes;
}

/**
 * Asks web servers over our own connections: no proxies of the environment, no cookies, no redirects unless asked, and
 * a limit on everything. Each exchange has a connection of its own. No message of its errors holds a query, which may
 * be a secret.
 */
export class HttpClient {
  readonly #clock: Clock;
  readonly #network: HttpClientParts["network"];
  readonly #dial: Dialer;
  readonly #options: HttpClientOptions;

  constructor(
    { clock, network, dial = directDialer({ clock, network }) }: HttpClientParts,
    options: HttpClientOptions = {},
  ) {
    this.#clock = clock;
    this.#network = network;
    this.#dial = dial;
    this.#options = options;
  }

  /** The answer, whatever its status. */
  async ask(request: HttpRequest, { signal }: { signal: AbortSignal }): Promise<HttpAnswer> {
    let asked = request;
    for (let left = request.redirects ?? 0;; left--) {
      const answer = await this.#askOnce(asked, signal);
      const next = left > 0 ? redirected(asked, answer) : undefined;
      if (!next) return answer;
      asked = next;
    }
  }

  async #askOnce(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer> {
    const { timeout: ms = 30_000 } = this.#options;
    const error = () =>
      new PosternError(
        "timeout",
        `Cannot get an answer from ${placeOf(request.url)}: none within ${Math.round(ms / 100) / 10} s`,
        {
          hint: "check that the service runs, and that it is reachable from here",
        },
      );
    return await within({ clock: this.#clock, ms, signal, error }, async (signal) => {
      const { url } = request;
      const conn = await this.#connect(url, signal);
      await using connection = new HttpConnection(conn, { from: placeOf(url), closed: "protocol" });
      return await abortable(connection, signal, () => this.#exchange(connection, request));
    });
  }

  async #connect(url: URL, signal: AbortSignal): Promise<Conn> {
    const { proxy } = this.#options;
    const target = webTarget(url);
    const isSecure = url.protocol === "https:";
    signal.throwIfAborted();
    if (!proxy) {
      return await this.#secured(await this.#dial(target, { signal }), target, { isSecure, signal });
    }
    const plain = await this.#dial(proxy, { signal });
    const conn = await this.#secured(plain, proxy, { isSecure: proxy.scheme === "https", signal });
    if (!isSecure) return conn;
    const asking = { target, proxy: `the proxy ${formatTarget(proxy)}`, credentials: proxy.credentials };
    const tunnel = await orDrop(conn, signal, () => httpConnect(conn, asking));
    if (tunnel instanceof PosternError) {
      conn.abort(tunnel);
      throw tunnel;
    }
    return await this.#secured(tunnel, target, { isSecure, signal });
  }

  async #secured(
    conn: Conn,
    { host }: Target,
    { isSecure, signal }: { isSecure: boolean; signal: AbortSignal },
  ): Promise<Conn> {
    if (!isSecure) return conn;
    const { ca } = this.#options;
    const options = { serverName: host, alpn: ["http/1.1"], ca, signal };
    return await this.#network.secure(conn, options);
  }

  async #exchange(connection: HttpConnection, request: HttpRequest): Promise<HttpAnswer> {
    const { url, method = "GET", limit = this.#options.limit ?? 1024 * 1024 } = request;
    const { status, fields, ...head } = await connection.ask(requestBytes(request, this.#options.proxy));
    const body = request.isHeadEnough
      ? new Uint8Array()
      : await connection.body({ status, fields, ...head }, method, limit);
    return { url, status, fields, body };
  }
}

/** A URL for a message: without its query and without a user, which may be secrets. */
export function placeOf(url: URL): string {
  return `${url.protocol}//${url.host}${url.pathname}`;
}

function webTarget(url: URL): Target {
  if (url.protocol === "https:" || url.protocol === "http:") return targetOf(url);
  throw new PosternError("config", `Cannot ask ${placeOf(url)}: it is no web address`, {
    hint: "write a URL that begins with https://",
  });
}

function requestBytes({ url, method, fields = [], body }: HttpRequest, proxy: HttpProxy | undefined): Bytes {
  const asked = url.protocol === "http:" ? proxy : undefined;
  const path = `${url.pathname}${url.search}`;
  return encodeRequest({
    method,
    // A proxy is told whom to ask (RFC 9112, section 3.2.2).
    target: asked ? `http://${url.host}${path}` : path,
    host: url.host,
    fields: [["Connection", "close"], ...proxyAuthorization(asked?.credentials), ...fields],
    body,
  });
}

/** The request that an answer asks for instead; undefined when it asks for none that we would make. */
function redirected(request: HttpRequest, { status, fields, url }: HttpAnswer): HttpRequest | undefined {
  const location = fields.get("location");
  const isSafe = ["GET", "HEAD"].includes(request.method ?? "GET");
  if (![301, 302, 303, 307, 308].includes(status) || location === undefined || !isSafe) return undefined;
  const to = URL.parse(location, url.href);
  // What was asked for over TLS is not asked for without it.
  if (!to || (to.protocol !== "https:" && to.protocol !== url.protocol)) {
    throw new PosternError(
      "protocol",
      `Cannot follow the redirect of ${placeOf(url)}: it leads to no https:// address`,
    );
  }
  const isOther = formatTarget(webTarget(to)) !== formatTarget(webTarget(url)) ||
    to.protocol !== url.protocol;
  const kept = [...request.fields ?? []].filter(([name]) => !isOther || !personal.has(name.toLowerCase()));
  return { ...request, url: to, fields: kept };
}

/** Meant for one server only. */
const personal: ReadonlySet<string> = new Set(["authorization", "cookie"]);
