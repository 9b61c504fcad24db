import {
  type Conn,
  describe,
  type DialOptions,
  formatTarget,
  isPosternError,
  type PosternError,
  type Target,
  type Transport,
  type TransportStatus,
} from "../core/mod.ts";
import { defineTransport, type TransportDeps } from "./define_transport.ts";
import type { GrpcFrontend } from "./konnectivity/grpc_frontend.ts";
import { type KonnectivitySettings, konnectivitySettings } from "./konnectivity/konnectivity_settings.ts";
import { FrontendReach } from "./konnectivity/reach_frontend.ts";

export type KonnectivityDeps = Pick<TransportDeps, "name" | "network" | "dialer" | "files" | "clock">;

/** Dials through a Konnectivity server: one of its agents connects, inside the cluster it runs in. */
export class Konnectivity implements Transport {
  readonly name: string;
  readonly #settings: KonnectivitySettings;
  readonly #deps: KonnectivityDeps;
  readonly #reach: FrontendReach;
  #grpc: Promise<GrpcFrontend> | undefined;
  #ready: GrpcFrontend | undefined;
  #state: TransportStatus = { state: "idle" };

  constructor(settings: KonnectivitySettings, deps: KonnectivityDeps) {
    this.name = deps.name;
    this.#settings = settings;
    this.#deps = deps;
    this.#reach = new FrontendReach(settings, deps);
  }

  async dial(target: Target, options: DialOptions): Promise<Conn> {
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
    await (await this.#grpc)?.[Symbol.asyncDispose]();
  }

  async #dial(target: Target, options: DialOptions): Promise<Conn> {
    if (this.#settings.mode === "http-connect") {
      const { dialByConnect } = await import("./konnectivity/connect_frontend.ts");
      return await dialByConnect(this.#reach, target, options);
    }
    const grpc = this.#ready ?? await (this.#grpc ??= this.#load());
    return await grpc.dial(target, options);
  }

  async #load(): Promise<GrpcFrontend> {
    const { GrpcFrontend } = await import("./konnectivity/grpc_frontend.ts");
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
  create: (settings, deps) => new Konnectivity(settings, deps),
});
