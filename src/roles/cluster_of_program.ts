import type { KubeApi } from "../kube/mod.ts";
import { PosternError } from "../words/mod.ts";
import type { World } from "../world/mod.ts";
import { dialerThroughProxy, directDialer } from "../http/mod.ts";

/** The API of the cluster that a role works for. */
export interface ClusterOfProgram extends AsyncDisposable {
  readonly api: KubeApi;
  /** The pod's namespace, or the kubeconfig's. */
  readonly namespace: string;
}

export interface ClusterOfProgramOptions {
  /** A context of the kubeconfig (default: its current context). */
  readonly context?: string | undefined;
  /** The maximum number of concurrent requests. */
  readonly most?: number;
}

/**
 * Opens the cluster of a kubeconfig context, or without a kubeconfig the cluster that this pod runs in.
 * Merges several kubeconfigs like kubectl. Does not connect.
 */
export async function openClusterOfProgram(
  kubeconfig: string | readonly string[] | undefined,
  world: Pick<World, "clock" | "network" | "files" | "process">,
  { context: named, most }: ClusterOfProgramOptions = {},
): Promise<ClusterOfProgram> {
  const { clock, network, files, process } = world;
  const { loadKubernetes } = await import("../kube/mod.ts");
  const { inClusterContext, KubeClient, readKubeConfig } = await loadKubernetes();
  const contextIn = async (kubeconfig: string | readonly string[]) => {
    const paths = typeof kubeconfig === "string" ? [kubeconfig] : kubeconfig;
    const config = await readKubeConfig(files, paths);
    if (named !== undefined) return config.context(named);
    if (config.currentContext !== undefined) return config.context(config.currentContext);
    const what = paths.map((path) => `"${path}"`).join(", ");
    throw new PosternError("config", `Cannot use the kubeconfig ${what}: it has no current-context`, {
      hint: "choose one: kubectl config use-context CONTEXT",
    });
  };
  const context = kubeconfig === undefined
    ? await inClusterContext({ files, process })
    : await contextIn(kubeconfig);
  const { proxyUrl } = context.cluster;
  const api = new KubeClient(context, {
    clock,
    network,
    files,
    process,
    isUnattended: true,
    most,
    dial: proxyUrl
      ? dialerThroughProxy(proxyUrl.href, { name: `the proxy-url of ${context.name}`, world })
      : directDialer({ network, clock }),
    ...(kubeconfig !== undefined && { reread: async () => (await contextIn(kubeconfig)).user }),
  });
  return {
    api,
    namespace: context.namespace,
    async [Symbol.asyncDispose]() {
      await api[Symbol.asyncDispose]();
    },
  };
}
