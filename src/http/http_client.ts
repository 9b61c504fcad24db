import { type Clock, type Conn, Messages, whenAborted, within } from "../core/mod.ts";
import type { Dialer, Network } from "../world/mod.ts";
import { formatTarget, PosternError, type Target } from "../words/mod.ts";
import { encodeRequestHead, type Fields, finalHeadDecoder, responseFraming } from "../wire/mod.ts";
import { readAnswerBody } from "./http_answer_body.ts";
import { type HttpProxy, openTunnel, proxyAuthorization } from "./http_proxy_tunnel.ts";
import { straightDialer } from "./straight_dialer.ts";

export interface HttpClientParts {
  readonly clock: Clock;
  readonly network: Pick<Network, "connect" | "lookup" | "secure">;
  /** How its connections are made: the system's resolver, and each address in turn, unless told. */
  readonly dial?: Dialer;
}

export interface HttpClientOptions {
  /** PEM certificates trusted besides the system's. */
  readonly ca?: string;
  /** A proxy to go through: by a tunnel for https, by the whole URL for http. Nothing goes past it. */
  readonly proxy?: HttpProxy;
  /** How long one exchange may take, in ms; 30 s unless told. */
  readonly timeout?: number;
  /** The most bytes of an answer; 1 MiB unless told. */
  readonly limit?: number;
}

export interface HttpRequest {
  readonly url: URL;
  /** GET unless told. */
  readonly method?: string;
  readonly fields?: Iterable<readonly [name: string, value: string]>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
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
  readonly body: Uint8Array<ArrayBuffer>;
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
    { clock, network, dial = straightDialer({ clock, network }) }: HttpClientParts,
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
      signal.throwIfAborted();
      await using conn = await this.#connect(request.url, signal);
      using _drop = whenAborted(signal, () => conn.abort(signal.reason));
      try {
        return await this.#exchange(conn, request);
      } catch (error) {
        signal.throwIfAborted();
        throw error;
      }
    });
  }

  async #connect(url: URL, signal: AbortSignal): Promise<Conn> {
    const { proxy } = this.#options;
    const target = targetOf(url);
    const isSecure = url.protocol === "https:";
    if (!proxy) {
      return await this.#secured(await this.#dial(target, { signal }), target, { isSecure, signal });
    }
    const plain = await this.#dial(proxy, { signal });
    const conn = await this.#secured(plain, proxy, { isSecure: proxy.scheme === "https", signal });
    if (!isSecure) return conn;
    return await this.#secured(await openTunnel(conn, { proxy, target, signal }), target, {
      isSecure,
      signal,
    });
  }

  async #secured(
    conn: Conn,
    { host }: Target,
    { isSecure, signal }: { isSecure: boolean; signal: AbortSignal },
  ): Promise<Conn> {
    if (!isSecure) return conn;
    const { ca } = this.#options;
    const options = { serverName: host, alpn: ["http/1.1"], ...(ca !== undefined && { ca }), signal };
    return await this.#network.secure(conn, options);
  }

  async #exchange(conn: Conn, request: HttpRequest): Promise<HttpAnswer> {
    const { url, method = "GET" } = request;
    await conn.write(requestBytes(request, this.#options.proxy));
    const messages = new Messages(conn);
    const head = await messages.read(finalHeadDecoder());
    if (!head) {
      throw new PosternError(
        "protocol",
        `Cannot read the answer of ${placeOf(url)}: it closed the connection`,
      );
    }
    if (request.isHeadEnough) {
      return { url, status: head.status, fields: head.fields, body: new Uint8Array() };
    }
    const limit = request.limit ?? this.#options.limit ?? 1024 * 1024;
    const body = await readAnswerBody(messages, responseFraming(head, method), {
      limit,
      from: placeOf(url),
    });
    return { url, status: head.status, fields: head.fields, body };
  }
}

/** A URL for a message: without its query and without a user, which may be secrets. */
export function placeOf(url: URL): string {
  return `${url.protocol}//${url.host}${url.pathname}`;
}

function targetOf(url: URL): Target {
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw new PosternError("config", `Cannot ask ${placeOf(url)}: it is no web address`, {
      hint: "write a URL that begins with https://",
    });
  }
  const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
  return { host: url.hostname.replace(/^\[(.*)\]$/, "$1"), port };
}

function requestBytes(
  { url, method = "GET", fields = [], body }: HttpRequest,
  proxy: HttpProxy | undefined,
): Uint8Array<ArrayBuffer> {
  const asked = url.protocol === "http:" ? proxy : undefined;
  const path = `${url.pathname}${url.search}`;
  const content = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const head = encodeRequestHead({
    method,
    // A proxy is told whom to ask (RFC 9112, section 3.2.2).
    target: asked ? `http://${url.host}${path}` : path,
    fields: [
      ["Host", url.host],
      ["User-Agent", "postern"],
      ["Connection", "close"],
      ...(asked ? proxyAuthorization(asked) : []),
      ...fields,
      ...(content ? [["Content-Length", String(content.length)] as const] : []),
    ],
  });
  if (!content) return head;
  const bytes = new Uint8Array(head.length + content.length);
  bytes.set(head);
  bytes.set(content, head.length);
  return bytes;
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
  const isOther = formatTarget(targetOf(to)) !== formatTarget(targetOf(url)) || to.protocol !== url.protocol;
  const kept = [...request.fields ?? []].filter(([name]) => !isOther || !personal.has(name.toLowerCase()));
  return { ...request, url: to, fields: kept };
}

/** Meant for one server only. */
const personal: ReadonlySet<string> = new Set(["authorization", "cookie"]);
