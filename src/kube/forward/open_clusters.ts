// All that a cluster is used with: a file that is loaded when the first one is.
import type { KubeConfig } from "../api/kube_config.ts";
import { loadKubernetes } from "../api/load_kubernetes.ts";
import { PosternError } from "../../words/mod.ts";
import type { ClusterDeps } from "./cluster_deps.ts";
import type { KubernetesSettings } from "./kubernetes_settings.ts";
import { ClusterLinks } from "./cluster_links.ts";
import { ClusterSet, currentContextOf } from "./cluster_set.ts";
import { expectWay } from "./dialer_of_cluster.ts";

export { ClusterNames } from "./cluster_names.ts";

/** The contexts that the settings name, by what the kubeconfigs say now; dials nothing. */
export async function openClusters(settings: KubernetesSettings, deps: ClusterDeps): Promise<ClusterSet> {
  const links = await ClusterLinks.load(settings, deps);
  return new ClusterSet({ settings, clock: deps.clock, config: await links.read(), links });
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
