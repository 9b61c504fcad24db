import type { Conn, DialOptions, Transport, TransportStatus } from "../core/mod.ts";
import { describe, formatTarget, isPosternError, PosternError, type Target } from "../words/mod.ts";
import type { Dialer } from "../world/mod.ts";
import { isMapping } from "../config/mod.ts";
import { defineTransport, transportClosed, type TransportDeps } from "./define_transport.ts";
import { Direct } from "./direct.ts";
import { firstConnected } from "../http/mod.ts";
import type {
  FrontendReach,
  GrpcFrontend,
  KonnectivitySettings,
  TargetNames,
  Way,
} from "../konnectivity/mod.ts";
import { konnectivitySettings } from "./konnectivity_settings.ts";

export type KonnectivityDeps = Pick<
  TransportDeps,
  "name" | "network" | "dialer" | "files" | "clock" | "sibling"
>;

/** Dials through a Konnectivity server: one of its agents connects, inside the cluster it runs in. */
export class Konnectivity implements Transport {
  readonly name: string;
  readonly #settings: KonnectivitySettings;
  readonly #deps: KonnectivityDeps;
  #reach: FrontendReach | undefined;
  #grpc: Promise<GrpcFrontend> | undefined;
  #ready: GrpcFrontend | undefined;
  #names: Promise<TargetNames> | undefined;
  #state: TransportStatus = { state: "idle" };
  #isDisposed = false;

  constructor(settings: KonnectivitySettings, deps: KonnectivityDeps) {
    this.name = deps.name;
    this.#settings = settings;
    this.#deps = deps;
  }

  async dial(target: Target, options: DialOptions): Promise<Conn> {
    if (this.#isDisposed) throw transportClosed(this.name);
    if (this.#settings.names === undefined) return await this.#dialFar(target, options);
    const names = await (this.#names ??= this.#loadNames());
    return await this.#dialWay(target, await names.way(target, options), options);
  }

  /** Names are then the agent's. */
  readonly dialUnasked: Dialer = (target, options) => this.#dialFar(target, options);

  async #dialWay({ host: name, port }: Target, { from, hosts }: Way, options: DialOptions): Promise<Conn> {
    const { clock, network } = this.#deps;
    if (hosts === undefined) return await new Direct({ network, clock }).dial({ host: name, port }, options);
    const [only] = hosts;
    if (only === name && from === "agent") return await this.#dialFar({ host: only, port }, options);
    const connect: Dialer = from === "agent"
      ? (target, options) => this.#dialFar(target, options)
      : (target, options) => network.connect(target, options);
    return await firstConnected(hosts, (host, options) => connect({ host, port }, options), {
      clock,
      signal: options.signal,
      name,
      port,
    });
  }

  async #dialFar(target: Target, options: DialOptions): Promise<Conn> {
    if (this.#isDisposed) throw transportClosed(this.name);
    try {
      const conn = await this.#dial(target, options);
      this.#state = { state: "ready" };
      return conn;
    } catch (error) {
      if (options.signal.aborted) throw options.signal.reason;
      this.#state = isOfTarget(error) ? { state: "ready" } : { state: "failing", lastError: describe(error) };
      throw error;
    }
  }

  status(): TransportStatus {
    const { server, mode } = this.#settings;
    const where = "path" in server ? server.path : formatTarget(server.target);
    return { ...this.#state, server: where, mode, ...this.#ready?.counts };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    (await this.#names)?.[Symbol.dispose]();
    await (await this.#grpc)?.[Symbol.asyncDispose]();
  }

  async #dial(target: Target, options: DialOptions): Promise<Conn> {
    if (this.#settings.mode === "http-connect") {
      const { dialByConnect, FrontendReach } = await import("../konnectivity/mod.ts");
      this.#reach ??= new FrontendReach(this.#settings, this.#deps);
      return await dialByConnect(this.#reach, target, options);
    }
    const grpc = this.#ready ?? await (this.#grpc ??= this.#load());
    return await grpc.dial(target, options);
  }

  async #loadNames(): Promise<TargetNames> {
    const { names } = this.#settings;
    if (!names) throw new PosternError("internal", "There are no names to be resolved");
    const { TargetNames } = await import("../konnectivity/mod.ts");
    const { network, clock, sibling } = this.#deps;
    return new TargetNames(names, {
      network,
      clock,
      services: () => names.services === undefined ? undefined : sibling?.(names.services),
      dialAddress: (target, options) => this.#dialFar(target, options),
    });
  }

  async #load(): Promise<GrpcFrontend> {
    const { FrontendReach, GrpcFrontend } = await import("../konnectivity/mod.ts");
    this.#reach ??= new FrontendReach(this.#settings, this.#deps);
    return this.#ready = new GrpcFrontend(this.#reach, this.#deps);
  }
}

/** What says something of the target is no failure of the way there. */
function isOfTarget(error: unknown): error is PosternError {
  return isPosternError(error, "refused") || isPosternError(error, "name_not_found");
}

/** `konnectivity: { server }`: through a Konnectivity server and its agents. */
export default defineTransport({
  type: "konnectivity",
  settings: konnectivitySettings,
  references: ({ names }) =>
    names?.services === undefined ? [] : [{
      name: names.services,
      path: ["names", "services"],
      problem: ({ kind, settings }) => {
        if (kind !== "kubernetes") return "must name a transport of kind kubernetes";
        const isOne = isMapping(settings) && settings["contexts"] === undefined;
        return isOne ? undefined : "must name a transport with one context";
      },
    }],
  create: (settings, deps) => new Konnectivity(settings, deps),
});
