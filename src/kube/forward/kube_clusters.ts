// Everything that clusters need; loaded when the first one is used.
import type { KubeApi } from "../api/kube_api.ts";
import type { KubeConfig } from "../api/kube_config.ts";
import { loadKubernetes } from "../api/load_kubernetes.ts";
import {
  type ClusterStatus,
  type Conn,
  type DialOptions,
  type FarName,
  type FarTables,
  transportClosed,
  type TransportNote,
  type TransportStatus,
  unlessAborted,
} from "../../core/mod.ts";
import { asPosternError, describe, PosternError, type Target } from "../../words/mod.ts";
import type { ClusterDeps } from "./cluster_deps.ts";
import { ClusterLinks } from "./cluster_links.ts";
import { ClusterNames } from "./cluster_names.ts";
import { ClusterSet, currentContextOf } from "./cluster_set.ts";
import { clusterState } from "./cluster_state.ts";
import { expectReachable } from "./dialer_of_cluster.ts";
import type { KubernetesSettings } from "./kubernetes_settings.ts";

/** The clusters of one transport: the contexts in its settings, resolved with the kubeconfigs. */
export class KubeClusters implements AsyncDisposable {
  readonly #settings: KubernetesSettings;
  readonly #deps: ClusterDeps;
  #loading: Promise<ClusterSet> | undefined;
  #set: ClusterSet | undefined;
  #names: ClusterNames | undefined;
  #current: string | undefined;
  #failure: PosternError | undefined;
  #lastError: PosternError | undefined;
  #isDisposed = false;

  constructor(settings: KubernetesSettings, deps: ClusterDeps) {
    this.#settings = settings;
    this.#deps = deps;
  }

  /** The current context at the last read of the kubeconfigs. */
  get current(): string | undefined {
    return this.#current;
  }

  async dial(target: Target, options: DialOptions): Promise<Conn> {
    try {
      const conn = await (await this.#opened(options.signal)).dial(target, options);
      this.#lastError = undefined;
      return conn;
    } catch (error) {
      if (!options.signal.aborted) this.#lastError = asPosternError(error);
      throw error;
    }
  }

  /** The API server of the only cluster, for requests other than port-forwards. */
  async api({ signal }: { readonly signal: AbortSignal }): Promise<KubeApi> {
    const { single } = await this.#opened(signal);
    if (single) return single.api;
    throw new PosternError(
      "config",
      `Cannot choose a cluster: the transport "${this.#deps.name}" has several contexts`,
      {
        hint: "name a transport with one context",
      },
    );
  }

  /** The tables of the only cluster; puts it into use. */
  async tables(signal: AbortSignal): Promise<FarTables | undefined> {
    return (await this.#opened(signal)).single?.table;
  }

  /** The tables of the only cluster, if it is already in use. */
  get usedTables(): FarTables | undefined {
    return this.#set?.used?.table;
  }

  async find(name: string, options: { readonly signal: AbortSignal }): Promise<FarName | undefined> {
    await this.#opened(options.signal);
    return await this.#names?.find(name, options);
  }

  nameOf(address: string): string | undefined {
    return this.#names?.nameOf(address);
  }

  async all(options: { readonly signal: AbortSignal }): Promise<readonly (readonly string[])[]> {
    await this.#opened(options.signal);
    return await this.#names?.all(options) ?? [];
  }

  /** Reads the kubeconfigs again; changes apply to new connections. */
  async prepare(): Promise<readonly TransportNote[]> {
    try {
      const config = await this.#read();
      for (const name of namedContexts(this.#settings, config, { all: [] })) {
        expectReachable(config.context(name).cluster.proxyUrl, this.#deps);
      }
      this.#current = config.currentContext;
      this.#set?.renew(config);
      this.#failure = undefined;
      return [];
    } catch (error) {
      this.#failure = asPosternError(error);
      const { message, hint } = this.#failure;
      return [{ severity: "blocking", text: message, ...(hint !== undefined && { hint }) }];
    }
  }

  /** The credential plugins of the contexts; "any" while the kubeconfigs are unusable. */
  async programs(): Promise<"any" | readonly string[]> {
    try {
      const config = await this.#read();
      const named = namedContexts(this.#settings, config, { all: config.contextNames });
      return named.flatMap((name) => config.context(name).user.exec?.command ?? []);
    } catch (error) {
      // The kubeconfig may become usable later, with any plugin.
      if (error instanceof PosternError) return "any";
      throw error;
    }
  }

  /** Checks that the API servers in use respond, and watches their default namespaces. */
  async connect({ signal, onStep }: DialOptions): Promise<void> {
    const set = await this.#opened(signal);
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
    try {
      const found = this.#set?.find(host);
      return found?.link.locate({ host: found.host, port });
    } catch (error) {
      if (error instanceof PosternError) return undefined;
      throw error;
    }
  }

  status(): TransportStatus & { readonly clusters: readonly ClusterStatus[] } {
    const clusters = this.#set?.links.map(clusterState) ?? [];
    if (this.#failure) {
      const { hint } = this.#failure;
      const lastError = describe(this.#failure);
      return { state: "unusable", lastError, ...(hint !== undefined && { hint }), clusters };
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
      clusters,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    // A set that is still being created checks `isDisposed`.
    await this.#set?.[Symbol.asyncDispose]();
  }

  async #read(): Promise<KubeConfig> {
    const { readKubeConfig } = await loadKubernetes();
    return await readKubeConfig(this.#deps.files, this.#settings.kubeconfigs);
  }

  async #opened(signal: AbortSignal): Promise<ClusterSet> {
    this.#demandOpen();
    if (this.#set) return this.#set;
    this.#loading ??= this.#load().finally(() => this.#loading = undefined);
    return await unlessAborted(this.#loading, signal);
  }

  async #load(): Promise<ClusterSet> {
    const { contexts, suffix } = this.#settings;
    const links = await ClusterLinks.load(this.#settings, this.#deps);
    const { clock } = this.#deps;
    const set = new ClusterSet({ settings: this.#settings, clock, config: await links.read(), links });
    this.#demandOpen();
    this.#names = new ClusterNames(set, contexts === undefined ? undefined : suffix);
    return this.#set = set;
  }

  #demandOpen(): void {
    if (this.#isDisposed) throw transportClosed(this.#deps.name);
  }
}

/** The contexts in the settings; `all` if they select every context. */
function namedContexts(
  { kubeconfigs, context, contexts }: KubernetesSettings,
  config: KubeConfig,
  { all }: { readonly all: readonly string[] },
): readonly string[] {
  if (contexts === "all") return all;
  return contexts ?? [context ?? currentContextOf(config, kubeconfigs)];
}
