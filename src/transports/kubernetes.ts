import { isMapping } from "../config/mod.ts";
import type { Target } from "../words/mod.ts";
import {
  type ClusterStatus,
  type Conn,
  type DialOptions,
  type FarNames,
  type FarTables,
  type Transport,
  transportClosed,
  type TransportNote,
  type TransportStatus,
} from "../core/mod.ts";
import type { KubeApi, KubeClusters, KubernetesSettings } from "../kube/mod.ts";
import { defineTransport, type TransportDeps } from "./define_transport.ts";
import { kubernetesSettings } from "./kubernetes_settings.ts";
import { LateTables } from "./late_tables.ts";

/** Connects into a cluster, or into several contexts, through the API server only. */
export class Kubernetes implements Transport {
  readonly name: string;
  readonly tables: FarTables | undefined;
  /** The names that the clusters' own DNS would resolve. */
  readonly names: FarNames;
  readonly #settings: KubernetesSettings;
  readonly #deps: TransportDeps;
  readonly #late: LateTables | undefined;
  /** Loaded on first use. */
  #clusters: KubeClusters | undefined;
  #isDisposed = false;

  constructor(settings: KubernetesSettings, deps: TransportDeps) {
    this.name = deps.name;
    this.#settings = settings;
    this.#deps = deps;
    this.names = {
      find: async (name, options) => await (await this.#loaded()).find(name, options),
      nameOf: (address) => this.#clusters?.nameOf(address),
      all: async (options) => await (await this.#loaded()).all(options),
    };
    if (settings.contexts === undefined) {
      this.tables = this.#late = new LateTables(async (signal) =>
        await (await this.#loaded()).tables(signal)
      );
    }
  }

  async dial(target: Target, options: DialOptions): Promise<Conn> {
    return await (this.#clusters ?? await this.#loaded()).dial(target, options);
  }

  /** Returns the API server of a transport with one cluster, for uses other than pods. */
  async api(options: { readonly signal: AbortSignal }): Promise<KubeApi> {
    return await (await this.#loaded()).api(options);
  }

  async prepare(): Promise<readonly TransportNote[]> {
    const clusters = await this.#loaded();
    const notes = await clusters.prepare();
    if (notes.length === 0) this.#late?.keepOnly(clusters.usedTables);
    return notes;
  }

  async programs(): Promise<"any" | readonly string[]> {
    return await (await this.#loaded()).programs();
  }

  async connect(options: DialOptions): Promise<void> {
    await (await this.#loaded()).connect(options);
  }

  check(): void {
    this.#clusters?.check();
  }

  locate(target: Target): string | undefined {
    return this.#clusters?.locate(target);
  }

  status(): TransportStatus & { readonly clusters: readonly ClusterStatus[] } {
    const { clusters, ...status } = this.#clusters?.status() ?? { state: "idle", clusters: [] };
    return { ...status, detail: detailOf(this.#settings, this.#clusters?.current), clusters };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    this.#late?.[Symbol.dispose]();
    await this.#clusters?.[Symbol.asyncDispose]();
  }

  async #loaded(): Promise<KubeClusters> {
    const { KubeClusters } = await import("../kube/mod.ts");
    if (this.#isDisposed) throw transportClosed(this.name);
    return this.#clusters ??= new KubeClusters(this.#settings, this.#deps);
  }
}

function detailOf(
  { kubeconfigs, context, contexts }: KubernetesSettings,
  current: string | undefined,
): string {
  const files = kubeconfigs.join(", ");
  if (contexts === "all") return `every context of ${files}`;
  if (contexts) return `contexts ${contexts.join(", ")} of ${files}`;
  const name = context ?? current;
  return name === undefined ? `the current context of ${files}` : `context ${name} of ${files}`;
}

/** Returns the problem of a transport that another one refers to as its cluster. */
export function clusterProblem(
  { kind, settings }: { readonly kind: string; readonly settings: unknown },
): string | undefined {
  if (kind !== "kubernetes") return "must name a transport of kind kubernetes";
  const isOne = isMapping(settings) && settings["contexts"] === undefined;
  return isOne ? undefined : "must name a transport with one context";
}

/** `kubernetes: CONTEXT`, or `{ kubeconfig, context, namespace, clusterDomain, suffix, … }`. */
export default defineTransport({
  type: "kubernetes",
  settings: kubernetesSettings,
  create: (settings, deps) => new Kubernetes(settings, deps),
});
