import type { Conn, DialOptions } from "../../core/mod.ts";
import { type Dialer, type Files, FreshText, type Network } from "../../world/mod.ts";
import { formatTarget, pathFailure, PosternError, type Target } from "../../words/mod.ts";
import { sameSettings } from "../../config/mod.ts";
import { orDrop } from "../../http/mod.ts";
import type { KonnectivitySettings } from "./konnectivity_settings.ts";

/** The contents of the TLS files. */
interface Texts {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

export interface ReachDeps {
  readonly network: Network;
  readonly dialer: Dialer;
  readonly files: Files;
}

/** After this many reads, use files even if they keep changing. */
const mostReads = 5;

/**
 * Connects to a Konnectivity server's frontend, over TLS with the current certificates or over its socket.
 */
export class FrontendReach {
  readonly #settings: KonnectivitySettings;
  readonly #deps: ReachDeps;
  readonly #ca: FreshText | undefined;
  readonly #cert: FreshText | undefined;
  readonly #key: FreshText | undefined;
  /** The contents used last. */
  #last: Texts | undefined;

  constructor(settings: KonnectivitySettings, deps: ReachDeps) {
    const fresh = (path: string | undefined) =>
      path === undefined ? undefined : new FreshText(path, deps.files);
    this.#settings = settings;
    this.#deps = deps;
    this.#ca = fresh(settings.ca);
    this.#cert = fresh(settings.cert);
    this.#key = fresh(settings.key);
  }

  /** The server's name for messages. */
  get label(): string {
    const { server } = this.#settings;
    return `the Konnectivity server ${"path" in server ? server.path : formatTarget(server.target)}`;
  }

  /** The `:authority` of requests. */
  get authority(): string {
    const { server, serverName } = this.#settings;
    if ("path" in server) return "localhost";
    return serverName === undefined ? formatTarget(server.target) : `${serverName}:${server.target.port}`;
  }

  get isSecure(): boolean {
    return "target" in this.#settings.server;
  }

  /** Identifies the TLS files of a connection; changes when certificates are renewed. */
  async certificates(): Promise<string> {
    return Object.values(await this.#texts()).join("\0");
  }

  async connect(alpn: readonly string[], options: DialOptions): Promise<Conn> {
    const { server } = this.#settings;
    try {
      if ("path" in server) return await this.#deps.network.connect(server, options);
      const conn = await this.#deps.dialer(server.target, options);
      return await this.#secured(conn, server.target, { alpn, signal: options.signal });
    } catch (error) {
      options.signal.throwIfAborted();
      throw error instanceof PosternError ? pathFailure(`Cannot reach ${this.label}`, error) : error;
    }
  }

  async #secured(
    conn: Conn,
    { host }: Target,
    { alpn, signal }: { alpn: readonly string[]; signal: AbortSignal },
  ): Promise<Conn> {
    return await orDrop(conn, signal, async () => {
      const texts = await this.#texts();
      return await this.#deps.network.secure(conn, {
        serverName: this.#settings.serverName ?? host,
        ...texts,
        // Trust only the given CA, like upstream's clients.
        ...(texts.ca !== undefined && { trust: "ca" }),
        ...(alpn.length > 0 && { alpn }),
        signal,
      });
    });
  }

  /** Reads the files until two reads agree: Kubernetes may replace a mounted secret between two reads. */
  async #texts(): Promise<Texts> {
    let before = this.#last;
    for (let tries = 0;; tries++) {
      const now: Texts = await this.#read();
      if (tries >= mostReads || (before && sameSettings(before, now))) return this.#last = now;
      before = now;
    }
  }

  async #read(): Promise<Texts> {
    const [ca, cert, key] = await Promise.all([this.#ca?.read(), this.#cert?.read(), this.#key?.read()]);
    return {
      ...(ca !== undefined && { ca }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
    };
  }
}
