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
  /** Opens the connections (default: directly from this machine). */
  readonly dial?: Dialer | undefined;
}

export interface HttpProxy {
  /** `https` uses TLS to the proxy itself. */
  readonly scheme: "http" | "https";
  readonly host: string;
  readonly port: number;
  readonly credentials?: BasicCredentials;
}

export interface HttpClientOptions {
  /** PEM certificates to trust in addition to the system's. */
  readonly ca?: string | undefined;
  /** A proxy for all requests: a tunnel for https, the full URL for http. */
  readonly proxy?: HttpProxy;
  /** Timeout of one request and its response, in ms (default: 30,000). */
  readonly timeout?: number | undefined;
  /** The maximum size of a response, in bytes (default: 1 MiB). */
  readonly limit?: number;
}

export interface HttpRequest {
  readonly url: URL;
  /** Default: GET. */
  readonly method?: string;
  readonly fields?: Iterable<readonly [name: string, value: string]>;
  readonly body?: string | Bytes;
  /** The maximum number of redirects (default: 0). Only GET and HEAD are repeated. */
  readonly redirects?: number;
  /** Overrides the client's limit. */
  readonly limit?: number;
  /** Reads only the head of the response and returns an empty body. */
  readonly isHeadEnough?: boolean;
}

export interface HttpAnswer {
  /** The URL of the response, after redirects. */
  readonly url: URL;
  readonly status: number;
  readonly fields: Fields;
  readonly body: Bytes;
}

/**
 * Sends requests to web servers over postern's own connections: without the environment's proxies, cookies,
 * or redirects unless requested, and with limits on everything. Each request has its own connection. Errors
 * never contain a query, which may be a secret.
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

  /** Sends a request and returns the response, whatever its status. */
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
        `Cannot get a response from ${placeOf(request.url)}: timeout after ${Math.round(ms / 100) / 10} s`,
        {
          hint: "check that the service runs and that this machine can reach it",
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

/** A URL for messages, without its query and user, which may be secrets. */
export function placeOf(url: URL): string {
  return `${url.protocol}//${url.host}${url.pathname}`;
}

function webTarget(url: URL): Target {
  if (url.protocol === "https:" || url.protocol === "http:") return targetOf(url);
  throw new PosternError("config", `Cannot request ${placeOf(url)}: it is not an http or https URL`, {
    hint: "write a URL that begins with https://",
  });
}

function requestBytes({ url, method, fields = [], body }: HttpRequest, proxy: HttpProxy | undefined): Bytes {
  const asked = url.protocol === "http:" ? proxy : undefined;
  const path = `${url.pathname}${url.search}`;
  return encodeRequest({
    method,
    // A proxy gets the absolute URL (RFC 9112, section 3.2.2).
    target: asked ? `http://${url.host}${path}` : path,
    host: url.host,
    fields: [["Connection", "close"], ...proxyAuthorization(asked?.credentials), ...fields],
    body,
  });
}

/** The request for a redirect; undefined when the response is not a redirect to follow. */
function redirected(request: HttpRequest, { status, fields, url }: HttpAnswer): HttpRequest | undefined {
  const location = fields.get("location");
  const isSafe = ["GET", "HEAD"].includes(request.method ?? "GET");
  if (![301, 302, 303, 307, 308].includes(status) || location === undefined || !isSafe) return undefined;
  const to = URL.parse(location, url.href);
  // Do not leave TLS for a redirect.
  if (!to || (to.protocol !== "https:" && to.protocol !== url.protocol)) {
    throw new PosternError(
      "protocol",
      `Cannot follow the redirect of ${placeOf(url)}: the Location is not an https:// URL`,
    );
  }
  const isOther = formatTarget(webTarget(to)) !== formatTarget(webTarget(url)) ||
    to.protocol !== url.protocol;
  const kept = [...request.fields ?? []].filter(([name]) => !isOther || !personal.has(name.toLowerCase()));
  return { ...request, url: to, fields: kept };
}

/** Fields for only one server. */
const personal: ReadonlySet<string> = new Set(["authorization", "cookie"]);
