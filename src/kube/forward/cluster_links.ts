import type { KubeConfig } from "../api/kube_config.ts";
import type { KubeContext } from "../api/kube_context.ts";
import { loadKubernetes } from "../api/load_kubernetes.ts";
import { normalHost } from "../../words/mod.ts";
import type { ClusterDeps } from "./cluster_deps.ts";
import { ClusterLink } from "./cluster_link.ts";
import { dialerOfCluster, isReachedDirectly } from "./dialer_of_cluster.ts";
import type { KubernetesSettings } from "./kubernetes_settings.ts";
import { learnedStore } from "./learned_store.ts";

/** A context, and how to parse host names in it. */
export interface ContextUse {
  readonly context: KubeContext;
  readonly namespace: string;
  /** Absent with several contexts; then the suffix was removed together with the context's name. */
  readonly suffix?: string | undefined;
}

/** Creates cluster links; opens no connections. */
export class ClusterLinks {
  readonly #settings: KubernetesSettings;
  readonly #deps: ClusterDeps;
  readonly #kubernetes: Awaited<ReturnType<typeof loadKubernetes>>;

  private constructor(
    settings: KubernetesSettings,
    deps: ClusterDeps,
    kubernetes: Awaited<ReturnType<typeof loadKubernetes>>,
  ) {
    this.#settings = settings;
    this.#deps = deps;
    this.#kubernetes = kubernetes;
  }

  static async load(settings: KubernetesSettings, deps: ClusterDeps): Promise<ClusterLinks> {
    return new ClusterLinks(settings, deps, await loadKubernetes());
  }

  read(): Promise<KubeConfig> {
    return this.#kubernetes.readKubeConfig(this.#deps.files, this.#settings.kubeconfigs);
  }

  make({ context, namespace, suffix }: ContextUse): ClusterLink {
    const { KubeClient, KubeView } = this.#kubernetes;
    const { clusterDomain, halfClose, externalName, podNetworks } = this.#settings;
    const { clock, log, files, learned } = this.#deps;
    const { server, proxyUrl } = context.cluster;
    const dial = dialerOfCluster(proxyUrl, this.#deps);
    const reread = async () => (await this.read()).context(context.name).user;
    const api = new KubeClient(context, { ...this.#deps, dial, reread, asksVersion: true });
    return new ClusterLink({
      clock,
      log,
      api,
      view: new KubeView({ api, clock }),
      names: { namespace, clusterDomain, suffix },
      halfClose,
      outside: externalName === "dial" ? dial : undefined,
      podNetworks,
      server: isReachedDirectly(proxyUrl, this.#deps) ? normalHost(server.hostname) : undefined,
      store: learned === undefined ? undefined : learnedStore(context, { files, directory: learned }),
    });
  }
}
