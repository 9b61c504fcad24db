import type { Conn, DialOptions, Transport, TransportStatus } from "../core/mod.ts";
import { describe, formatTarget, pathFailure, PosternError, type Target } from "../words/mod.ts";
import { type Dialer, type Files, FreshText, type Network } from "../world/mod.ts";
import { orDrop } from "./abortable.ts";
import { httpConnect } from "./http_connect.ts";
import type { Asking } from "./proxy_asking.ts";
import type { ProxySettings } from "./proxy_url.ts";
import { socks5Connect } from "./socks5_connect.ts";

export interface UpstreamProxyDeps {
  /** The proxy's name for messages. */
  readonly name: string;
  readonly network: Pick<Network, "secure">;
  readonly dialer: Dialer;
  readonly files: Files;
  /** PEM certificates to trust for the proxy, if they are not in a file. */
  readonly caText?: string | undefined;
}

/** Dials through an upstream proxy: HTTP CONNECT with or without TLS, or SOCKS5. */
export class UpstreamProxy implements Transport {
  readonly name: string;
  readonly #settings: ProxySettings;
  readonly #deps: UpstreamProxyDeps;
  /** The proxy's name for messages. */
  readonly #label: string;
  readonly #passwordFile: FreshText | undefined;
  readonly #ca: FreshText | undefined;
  #state: TransportStatus = { state: "idle" };

  constructor(settings: ProxySettings, deps: UpstreamProxyDeps) {
    const { host, port, passwordFile, ca } = settings;
    this.name = deps.name;
    this.#settings = settings;
    this.#deps = deps;
    this.#label = `the proxy "${deps.name}" (${formatTarget({ host, port })})`;
    this.#passwordFile = passwordFile === undefined ? undefined : new FreshText(passwordFile, deps.files);
    this.#ca = ca === undefined ? undefined : new FreshText(ca, deps.files);
  }

  async dial(target: Target, { signal, onStep }: DialOptions): Promise<Conn> {
    let answer: Conn | PosternError;
    try {
      answer = await this.#answer(target, { signal, onStep });
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      this.#state = { state: "failing", lastError: describe(error) };
      throw error;
    }
    // An error about one target is not a failure of the proxy.
    this.#state = { state: "ready" };
    if (answer instanceof PosternError) throw answer;
    return answer;
  }

  /** Its host and port. */
  get place(): string {
    return formatTarget(this.#settings);
  }

  status(): TransportStatus {
    return { ...this.#state, proxy: this.place };
  }

  /** Returns the tunnel or the proxy's error about the target; throws when the proxy itself fails. */
  async #answer(target: Target, { signal, onStep }: DialOptions): Promise<Conn | PosternError> {
    const asking = { target, proxy: this.#label, credentials: await this.#credentials() };
    const reached = await this.#reach({ signal, onStep });
    const conn = await orDrop(reached, signal, () => this.#secured(reached, signal));
    return await orDrop(conn, signal, async () => {
      onStep?.(`reached ${this.#label}`);
      const answer = await this.#asked(conn, asking);
      if (answer instanceof PosternError) conn.abort(answer);
      return answer;
    });
  }

  async #credentials(): Promise<Asking["credentials"]> {
    const { user, password } = this.#settings;
    if (user === undefined) return undefined;
    if (!this.#passwordFile) return { user, password: password ?? "" };
    // The line break from an editor or `echo` is not part of the password.
    const read = (await this.#passwordFile.read()).replace(/\r?\n$/, "");
    if (read !== "" && !/[\r\n]/.test(read)) return { user, password: read };
    throw new PosternError(
      "config",
      `Cannot use ${this.#passwordFile.path} as a password file: it must contain exactly one line`,
      { hint: "write only the password into the file" },
    );
  }

  async #reach(options: DialOptions): Promise<Conn> {
    try {
      return await this.#deps.dialer(this.#settings, options);
    } catch (error) {
      throw error instanceof PosternError ? pathFailure(`Cannot reach ${this.#label}`, error) : error;
    }
  }

  async #secured(conn: Conn, signal: AbortSignal): Promise<Conn> {
    const { scheme, host } = this.#settings;
    if (scheme !== "https") return conn;
    const ca = await this.#ca?.read() ?? this.#deps.caText;
    const options = { serverName: host, ca, signal };
    try {
      return await this.#deps.network.secure(conn, options);
    } catch (error) {
      throw error instanceof PosternError ? this.#broken(error) : error;
    }
  }

  async #asked(conn: Conn, asking: Asking): Promise<Conn | PosternError> {
    try {
      return await (this.#settings.scheme === "socks5" ? socks5Connect : httpConnect)(conn, asking);
    } catch (error) {
      if (!(error instanceof PosternError)) throw error;
      if (error.code !== "auth") throw this.#broken(error);
      this.#passwordFile?.forget();
      throw error;
    }
  }

  #broken(error: PosternError): PosternError {
    return pathFailure(`Cannot use ${this.#label}`, error);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}
