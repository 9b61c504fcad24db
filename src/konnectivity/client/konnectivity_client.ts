import type { Clock, Conn, DialOptions, Transport, TransportStatus } from "../../core/mod.ts";
import { directDialer, firstConnected } from "../../http/mod.ts";
import { describe, isOfTarget, PosternError, type Target } from "../../words/mod.ts";
import type { Dialer, Files, Network } from "../../world/mod.ts";
import { dialByConnect } from "./connect_frontend.ts";
import { GrpcFrontend } from "./grpc_frontend.ts";
import type { KonnectivitySettings } from "./konnectivity_settings.ts";
import { FrontendReach } from "./reach_frontend.ts";
import { TargetNames, type TargetPath } from "./target_names.ts";

export interface KonnectivityClientDeps {
  readonly network: Network;
  /** Connects to the server. */
  readonly dialer: Dialer;
  readonly files: Files;
  readonly clock: Clock;
  /** Returns another transport of the same configuration by name. */
  readonly sibling?: ((name: string) => Transport | undefined) | undefined;
}

/** Dials through a Konnectivity server; one of its agents connects to the target from its cluster. */
export class KonnectivityClient implements AsyncDisposable {
  readonly #deps: KonnectivityClientDeps;
  readonly #names: TargetNames | undefined;
  /** Dials through the configured frontend. */
  readonly #dial: Dialer;
  /** Undefined before the first dial. */
  #grpc: GrpcFrontend | undefined;
  #state: TransportStatus = { state: "idle" };

  constructor(settings: KonnectivitySettings, deps: KonnectivityClientDeps) {
    this.#deps = deps;
    const reach = new FrontendReach(settings, deps);
    const { mode, names } = settings;
    this.#dial = mode === "http-connect"
      ? (target, options) => dialByConnect(reach, target, options)
      : (target, options) => (this.#grpc ??= new GrpcFrontend(reach, deps)).dial(target, options);
    if (!names) return;
    const { network, clock, sibling } = deps;
    this.#names = new TargetNames(names, {
      network,
      clock,
      services: () => names.services === undefined ? undefined : sibling?.(names.services),
      dialAddress: (target, options) => this.dialFar(target, options),
    });
  }

  async dial(target: Target, options: DialOptions): Promise<Conn> {
    if (!this.#names) return await this.dialFar(target, options);
    return await this.#dialPath(target, await this.#names.pathTo(target, options), options);
  }

  /** Like `dial`, but the agent resolves the name. */
  async dialFar(target: Target, options: DialOptions): Promise<Conn> {
    try {
      const conn = await this.#dial(target, options);
      this.#state = { state: "ready" };
      return conn;
    } catch (error) {
      if (options.signal.aborted) throw options.signal.reason;
      this.#state = error instanceof PosternError && isOfTarget(error)
        ? { state: "ready" }
        : { state: "failing", lastError: describe(error) };
      throw error;
    }
  }

  async #dialPath(
    { host: name, port }: Target,
    { from, hosts }: TargetPath,
    options: DialOptions,
  ): Promise<Conn> {
    const { clock, network } = this.#deps;
    if (hosts === undefined) return await directDialer({ network, clock })({ host: name, port }, options);
    const [only] = hosts;
    if (only === name && from === "agent") return await this.dialFar({ host: only, port }, options);
    const connect: Dialer = from === "agent"
      ? (target, options) => this.dialFar(target, options)
      : (target, options) => network.connect(target, options);
    return await firstConnected(hosts, (host, options) => connect({ host, port }, options), {
      clock,
      signal: options.signal,
      name,
      port,
    });
  }

  status(): TransportStatus {
    return { ...this.#state, ...this.#grpc?.counts };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#names?.[Symbol.dispose]();
    await this.#grpc?.[Symbol.asyncDispose]();
  }
}
