import { asPosternError, describe, PosternError, type Target } from "../words/mod.ts";
import {
  type ClusterStatus,
  type Conn,
  type DialOptions,
  type FarNames,
  type FarTables,
  type Transport,
  type TransportNote,
  type TransportStatus,
  unlessAborted,
} from "../core/mod.ts";
import type { ClusterNames, ClusterSet, KubeApi, KubernetesSettings } from "../kube/mod.ts";
import { defineTransport, transportClosed, type TransportDeps } from "./define_transport.ts";
import { clusterState } from "./kubernetes/cluster_state.ts";
import { kubernetesSettings } from "./kubernetes_settings.ts";
import { LateTables } from "./kubernetes/late_tables.ts";

/** Goes into a cluster, or into several contexts, by nothing but its API server. */
export class Kubernetes implements Transport {
  readonly name: string;
  readonly #settings: KubernetesSettings;
  readonly #deps: TransportDeps;
  readonly #tables: LateTables | undefined;
  /** From the first dial on: until then nothing of all this is loaded. */
  #loading: Promise<ClusterSet> | undefined;
  #set: ClusterSet | undefined;
  #names: ClusterNames | undefined;
  /** The current context of the kubeconfigs when they were read last. */
  #current: string | undefined;
  #failure: PosternError | undefined;
  #lastError: PosternError | undefined;
  #isDisposed = false;

  constructor(settings: KubernetesSettings, deps: TransportDeps) {
    this.name = deps.name;
    this.#settings = settings;
    this.#deps = deps;
    if (settings.contexts === undefined) {
      this.#tables = new LateTables(async (signal) => {
        const set = await this.#clusters(signal);
        return set.single?.table;
      });
    }
  }

  get tables(): FarTables | undefined {
    return this.#tables;
  }

  /** What its clusters' own DNS would say. */
  get names(): FarNames {
    return {
      find: async (name, options) => {
        await this.#clusters(options.signal);
        return await this.#names?.find(name, options);
      },
      nameOf: (address) => this.#names?.nameOf(address),
    };
  }

  /** The API server of its one cluster, for those who ask it for something else than pods. */
  async api({ signal }: { readonly signal: AbortSignal }): Promise<KubeApi> {
    const { single } = await this.#clusters(signal);
    if (single) return single.api;
    throw new PosternError("config", `Cannot ask the cluster of "${this.name}": it has several`, {
      hint: "name a transport with one context",
    });
  }

  async dial(target: Target, options: DialOptions): Promise<Conn> {
    try {
      const conn = await (await this.#clusters(options.signal)).dial(target, options);
      this.#lastError = undefined;
      return conn;
    } catch (error) {
      if (!options.signal.aborted) this.#lastError = asPosternError(error);
      throw error;
    }
  }

  /** Reads the kubeconfigs; what has changed in it holds for new connections. */
  async prepare(): Promise<readonly TransportNote[]> {
    try {
      const { readContexts } = await import("../kube/mod.ts");
      const config = await readContexts(this.#settings, this.#deps);
      this.#current = config.currentContext;
      this.#set?.renew(config);
      this.#tables?.keepOnly(this.#set?.used?.table);
      this.#failure = undefined;
      return [];
    } catch (error) {
      this.#failure = asPosternError(error);
      const { message, hint } = this.#failure;
      return [{ severity: "blocking", text: message, ...(hint !== undefined && { hint }) }];
    }
  }

  /** The credential plugins of its contexts. */
  async programs(): Promise<"any" | readonly string[]> {
    const { pluginsOf } = await import("../kube/mod.ts");
    return await pluginsOf(this.#settings, this.#deps);
  }

  /** Asks the API servers that are in use whether they are there, and holds the usual namespace. */
  async connect({ signal, onStep }: DialOptions): Promise<void> {
    const set = await this.#clusters(signal);
    const links = set.single ? [set.single] : set.links;
    for (const link of links) {
      await link.connect({ signal });
      const version = await link.api.askVersion({ signal });
      onStep?.(`${link.api.name} answers${version === undefined ? "" : `: Kubernetes ${version}`}`);
    }
  }

  check(): void {
    for (const { view, forwards } of this.#set?.links ?? []) {
      view.check();
      forwards.check();
    }
  }

  locate({ host, port }: Target): string | undefined {
    const set = this.#set;
    try {
      const found = set?.find(host);
      return found?.link.locate({ host: found.host, port });
    } catch (error) {
      if (error instanceof PosternError) return undefined;
      throw error;
    }
  }

  status(): TransportStatus & { readonly clusters: readonly ClusterStatus[] } {
    const clusters = this.#set?.links.map(clusterState) ?? [];
    const detail = { detail: detailOf(this.#settings, this.#current), clusters };
    if (this.#failure) {
      const { hint } = this.#failure;
      return {
        state: "unusable",
        lastError: describe(this.#failure),
        ...(hint !== undefined && { hint }),
        ...detail,
      };
    }
    const lastError = this.#lastError?.message ?? clusters.find(({ lastError }) => lastError)?.lastError;
    const hint = this.#lastError?.hint;
    const isFailing = clusters.some(({ state }) => state === "failing") ||
      (clusters.length === 0 && this.#lastError !== undefined);
    const state = isFailing ? "failing" : clusters.length === 0 ? "idle" : "ready";
    return {
      state,
      ...(lastError !== undefined && { lastError }),
      ...(hint !== undefined && isFailing && { hint }),
      ...detail,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    this.#tables?.[Symbol.dispose]();
    // One that is still being made is told by `isDisposed`.
    await this.#set?.[Symbol.asyncDispose]();
  }

  async #clusters(signal: AbortSignal): Promise<ClusterSet> {
    if (this.#isDisposed) throw transportClosed(this.name);
    if (this.#set) return this.#set;
    this.#loading ??= this.#load().finally(() => this.#loading = undefined);
    return await unlessAborted(this.#loading, signal);
  }

  async #load(): Promise<ClusterSet> {
    const { ClusterNames, openClusters } = await import("../kube/mod.ts");
    const { contexts, suffix } = this.#settings;
    const { dialerThroughProxy } = await import("./dialer_through_proxy.ts");
    const { clock, files, network } = this.#deps;
    const set = await openClusters(this.#settings, {
      ...this.#deps,
      through: (url, options) => dialerThroughProxy(url, { ...options, world: { clock, files, network } }),
    });
    if (this.#isDisposed) throw transportClosed(this.name);
    this.#names = new ClusterNames(set, contexts === undefined ? undefined : suffix);
    return this.#set = set;
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

/** `kubernetes: CONTEXT`, or `{ kubeconfig, context, namespace, clusterDomain, suffix, … }`. */
export default defineTransport({
  type: "kubernetes",
  settings: kubernetesSettings,
  create: (settings, deps) => new Kubernetes(settings, deps),
});
