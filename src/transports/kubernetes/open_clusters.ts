// All that a cluster is used with: a file that is loaded when the first one is.
import { type KubeConfig, loadKubernetes } from "../../clusters/mod.ts";
import { PosternError } from "../../core/mod.ts";
import type { TransportDeps } from "../define_transport.ts";
import type { KubernetesSettings } from "../kubernetes_settings.ts";
import { ClusterLink } from "./cluster_link.ts";
import { ClusterSet, currentContextOf } from "./cluster_set.ts";
import { dialerOfCluster, expectWay } from "./dialer_of_cluster.ts";

export { ClusterNames } from "./cluster_names.ts";

/** The contexts that the settings name, by what the kubeconfig says now; dials nothing. */
export async function openClusters(settings: KubernetesSettings, deps: TransportDeps): Promise<ClusterSet> {
  const { clock, log } = deps;
  const { KubeClient, KubeView, readKubeConfig } = await loadKubernetes();
  return new ClusterSet({
    settings,
    clock,
    config: await readKubeConfig(deps.files, [settings.kubeconfig]),
    link: ({ context, namespace, suffix }) => {
      const dial = dialerOfCluster(context.cluster.proxyUrl, deps);
      const reread = async () =>
        (await readKubeConfig(deps.files, [settings.kubeconfig])).context(context.name).user;
      const api = new KubeClient(context, { ...deps, dial, reread, asksVersion: true });
      return new ClusterLink({
        clock,
        log,
        api,
        view: new KubeView({ api, clock }),
        names: { namespace, clusterDomain: settings.clusterDomain, suffix },
        halfClose: settings.halfClose,
        outside: settings.externalName === "dial" ? dial : undefined,
      });
    },
  });
}

/** Reads the kubeconfig again. What is wrong with the contexts that the settings name is `config`. */
export async function readContexts(
  { kubeconfig, context, contexts }: KubernetesSettings,
  deps: Pick<TransportDeps, "files" | "name" | "via" | "isOwnDoor">,
): Promise<KubeConfig> {
  const { readKubeConfig } = await loadKubernetes();
  const config = await readKubeConfig(deps.files, [kubeconfig]);
  const named = contexts === "all" ? [] : contexts ?? [context ?? currentContextOf(config, kubeconfig)];
  for (const name of named) expectWay(config.context(name).cluster.proxyUrl, deps);
  return config;
}

/** The credential plugins of the contexts that the settings name; "any" where the kubeconfig cannot be used now. */
export async function pluginsOf(
  { kubeconfig, context, contexts }: KubernetesSettings,
  { files }: Pick<TransportDeps, "files">,
): Promise<"any" | readonly string[]> {
  const { readKubeConfig } = await loadKubernetes();
  try {
    const config = await readKubeConfig(files, [kubeconfig]);
    const named = contexts === "all"
      ? config.contextNames
      : contexts ?? [context ?? currentContextOf(config, kubeconfig)];
    return named.flatMap((name) => config.context(name).user.exec?.command ?? []);
  } catch (error) {
    // A cluster that cannot be used yet may work after the file is mended.
    if (error instanceof PosternError) return "any";
    throw error;
  }
}
