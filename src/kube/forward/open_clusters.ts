// All that a cluster is used with: a file that is loaded when the first one is.
import type { KubeConfig } from "../api/kube_config.ts";
import { loadKubernetes } from "../api/load_kubernetes.ts";
import { normalHost, PosternError } from "../../words/mod.ts";
import type { ClusterDeps } from "./cluster_deps.ts";
import type { KubernetesSettings } from "./kubernetes_settings.ts";
import { ClusterLink } from "./cluster_link.ts";
import { ClusterSet, currentContextOf } from "./cluster_set.ts";
import { dialerOfCluster, expectWay, isReachedDirectly } from "./dialer_of_cluster.ts";
import { learnedStore } from "./learned_store.ts";

export { ClusterNames } from "./cluster_names.ts";

/** The contexts that the settings name, by what the kubeconfigs say now; dials nothing. */
export async function openClusters(settings: KubernetesSettings, deps: ClusterDeps): Promise<ClusterSet> {
  const { clock, log } = deps;
  const { KubeClient, KubeView, readKubeConfig } = await loadKubernetes();
  const read = () => readKubeConfig(deps.files, settings.kubeconfigs);
  return new ClusterSet({
    settings,
    clock,
    config: await read(),
    link: ({ context, namespace, suffix }) => {
      const { server, proxyUrl } = context.cluster;
      const dial = dialerOfCluster(proxyUrl, deps);
      const reread = async () => (await read()).context(context.name).user;
      const api = new KubeClient(context, { ...deps, dial, reread, asksVersion: true });
      return new ClusterLink({
        clock,
        log,
        api,
        view: new KubeView({ api, clock }),
        names: { namespace, clusterDomain: settings.clusterDomain, suffix },
        halfClose: settings.halfClose,
        outside: settings.externalName === "dial" ? dial : undefined,
        podNetworks: settings.podNetworks,
        server: isReachedDirectly(proxyUrl, deps) ? normalHost(server.hostname) : undefined,
        store: deps.learned === undefined
          ? undefined
          : learnedStore(context, { files: deps.files, directory: deps.learned }),
      });
    },
  });
}

/** Reads the kubeconfigs again. What is wrong with the contexts that the settings name is `config`. */
export async function readContexts(
  { kubeconfigs, context, contexts }: KubernetesSettings,
  deps: Pick<ClusterDeps, "files" | "name" | "via" | "isOwnListener">,
): Promise<KubeConfig> {
  const { readKubeConfig } = await loadKubernetes();
  const config = await readKubeConfig(deps.files, kubeconfigs);
  const named = contexts === "all" ? [] : contexts ?? [context ?? currentContextOf(config, kubeconfigs)];
  for (const name of named) expectWay(config.context(name).cluster.proxyUrl, deps);
  return config;
}

/** The credential plugins of the contexts that the settings name; "any" where the kubeconfig cannot be used now. */
export async function pluginsOf(
  { kubeconfigs, context, contexts }: KubernetesSettings,
  { files }: Pick<ClusterDeps, "files">,
): Promise<"any" | readonly string[]> {
  const { readKubeConfig } = await loadKubernetes();
  try {
    const config = await readKubeConfig(files, kubeconfigs);
    const named = contexts === "all"
      ? config.contextNames
      : contexts ?? [context ?? currentContextOf(config, kubeconfigs)];
    return named.flatMap((name) => config.context(name).user.exec?.command ?? []);
  } catch (error) {
    // A cluster that cannot be used yet may work after the file is mended.
    if (error instanceof PosternError) return "any";
    throw error;
  }
}
