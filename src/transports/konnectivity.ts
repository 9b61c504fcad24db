import {
  type Conn,
  type DialOptions,
  type Transport,
  transportClosed,
  type TransportStatus,
} from "../core/mod.ts";
import { formatTarget, type Target } from "../words/mod.ts";
import type { Dialer } from "../world/mod.ts";
import { defineTransport, type TransportDeps } from "./define_transport.ts";
import type { KonnectivityClient, KonnectivitySettings } from "../konnectivity/mod.ts";
import { clusterProblem } from "./kubernetes.ts";
import { konnectivitySettings } from "./konnectivity_settings.ts";

export type KonnectivityDeps = Pick<
  TransportDeps,
  "name" | "network" | "dialer" | "files" | "clock" | "sibling"
>;

/** Dials through a Konnectivity server: one of its agents connects from inside its cluster. */
export class Konnectivity implements Transport {
  readonly name: string;
  readonly #settings: KonnectivitySettings;
  readonly #deps: KonnectivityDeps;
  /** Loaded with the first dial. */
  #client: KonnectivityClient | undefined;
  #isDisposed = false;

  constructor(settings: KonnectivitySettings, deps: KonnectivityDeps) {
    this.name = deps.name;
    this.#settings = settings;
    this.#deps = deps;
  }

  async dial(target: Target, options: DialOptions): Promise<Conn> {
    return await (await this.#opened()).dial(target, options);
  }

  /** Dials without resolving names first: the agent resolves them. */
  readonly dialUnasked: Dialer = async (target, options) =>
    await (await this.#opened()).dialFar(target, options);

  status(): TransportStatus {
    const { server, mode } = this.#settings;
    const where = "path" in server ? server.path : formatTarget(server.target);
    const { state, lastError, ...counts } = this.#client?.status() ?? { state: "idle" };
    return { state, ...(lastError !== undefined && { lastError }), server: where, mode, ...counts };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    await this.#client?.[Symbol.asyncDispose]();
  }

  async #opened(): Promise<KonnectivityClient> {
    const { KonnectivityClient } = await import("../konnectivity/mod.ts");
    if (this.#isDisposed) throw transportClosed(this.name);
    return this.#client ??= new KonnectivityClient(this.#settings, this.#deps);
  }
}

/** `konnectivity: { server }`: a Konnectivity server and its agents. */
export default defineTransport({
  type: "konnectivity",
  settings: konnectivitySettings,
  references: ({ names }) =>
    names?.services === undefined ? [] : [{
      name: names.services,
      path: ["names", "services"],
      problem: clusterProblem,
    }],
  create: (settings, deps) => new Konnectivity(settings, deps),
});
