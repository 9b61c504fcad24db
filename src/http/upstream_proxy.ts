import type { Conn, DatagramPath, DialOptions, Transport, TransportStatus } from "../core/mod.ts";
import { describe, formatTarget, pathFailure, PosternError, type Target } from "../words/mod.ts";
import { type Dialer, type Files, FreshText, type Network } from "../world/mod.ts";
import { orDrop } from "./abortable.ts";
import { httpConnect } from "./http_connect.ts";
import type { Asking } from "./proxy_asking.ts";
import type { ProxySettings } from "./proxy_url.ts";
import { socks5Associate, socks5Connect } from "./socks5_connect.ts";
import { relayOf, Socks5Datagrams } from "./socks5_datagrams.ts";

export interface UpstreamProxyDeps {
  /** The proxy's name for messages. */
  readonly name: string;
  readonly network: Pick<Network, "secure">;
  readonly dialer: Dialer;
  readonly files: Files;
  /** Binds sockets for the datagrams through a SOCKS5 proxy; absent if datagrams cannot reach the proxy. */
  readonly udp?: Pick<Network, "datagrams"> | undefined;
  /** PEM certificates to trust for the proxy, if they are not in a file. */
  readonly caText?: string | undefined;
}

/** Dials through an upstream proxy: HTTP CONNECT with or without TLS, or SOCKS5. */
export class UpstreamProxy implements Transport {
  readonly name: string;
  readonly datagrams: Transport["datagrams"];
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
    if (settings.scheme === "socks5" && deps.udp) {
      const { udp } = deps;
      this.datagrams = (options) => this.#counted(options, () => this.#associated(udp, options));
    }
    this.#label = `the proxy "${deps.name}" (${formatTarget({ host, port })})`;
    this.#passwordFile = passwordFile === undefined ? undefined : new FreshText(passwordFile, deps.files);
    this.#ca = ca === undefined ? undefined : new FreshText(ca, deps.files);
  }

  async dial(target: Target, options: DialOptions): Promise<Conn> {
    const answer = await this.#counted(options, () => this.#answer(target, options));
    // An error about one target is not a failure of the proxy.
    if (answer instanceof PosternError) throw answer;
    return answer;
  }

  /** Updates the state of the proxy. */
  async #counted<T>({ signal }: DialOptions, work: () => Promise<T>): Promise<T> {
    try {
      const result = await work();
      this.#state = { state: "ready" };
      return result;
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      this.#state = { state: "failing", lastError: describe(error) };
      throw error;
    }
  }

  async #associated(network: Pick<Network, "datagrams">, options: DialOptions): Promise<DatagramPath> {
    const asking = { proxy: this.#label, credentials: await this.#credentials() };
    const reached = await this.#reach(options);
    return await orDrop(reached, options.signal, async () => {
      const { bound, conn } = await this.#asked(() => socks5Associate(reached, asking));
      const relay = relayOf(bound, reached, this.#label);
      const path = await Socks5Datagrams.start(conn, { network, relay, label: this.#label });
      if (options.signal.aborted) await path[Symbol.asyncDispose]();
      return path;
    });
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
      const connect = this.#settings.scheme === "socks5" ? socks5Connect : httpConnect;
      const answer = await this.#asked(() => connect(conn, asking));
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

  async #asked<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
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
