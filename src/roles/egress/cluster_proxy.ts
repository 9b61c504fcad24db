import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import {
  loadEgressController,
  type PlatformFacts,
  type ProxyInputs,
  readInfrastructure,
  readInstallFacts,
  readNetwork,
} from "../../egress/mod.ts";
import { usualKubeconfigs } from "../../plan/mod.ts";
import { openClusterOfProgram } from "../cluster_of_program.ts";

/** Which cluster is asked. */
export interface ClusterSource {
  /** The files of `KUBECONFIG`, else the one in the home directory, unless told. */
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
}

/** Reads the proxy of a cluster and what it is made of. Writes nothing. */
export async function readClusterProxy(
  world: World,
  { kubeconfig, context }: ClusterSource,
  { signal }: { signal: AbortSignal },
): Promise<ProxyInputs> {
  const [{ KubeObjects }, { readProxyInputs }] = await Promise.all([
    import("../../kube/mod.ts").then(({ loadKubernetes }) => loadKubernetes()),
    loadEgressController(),
  ]);
  await using cluster = await openClusterOfProgram(kubeconfig ?? usualKubeconfigs(world), world, { context });
  const objects = new KubeObjects(cluster.api);
  return await readProxyInputs((kind, place) => objects.read(kind, place, { signal }));
}

/** What a cluster says of its platform; an object that is missing, or cannot be read, is an error. */
export function factsOfCluster({ infrastructure, network, install }: ProxyInputs): PlatformFacts {
  const missing = [
    ...(infrastructure ? [] : ["Infrastructure/cluster"]),
    ...(network ? [] : ["Network/cluster"]),
  ];
  if (missing.length > 0) {
    throw new PosternError("config", `Cannot make the list: the cluster has no ${missing.join(" and no ")}`, {
      hint: "say what it would say: postern egress no-proxy --help",
    });
  }
  if (install && "problem" in install) {
    throw new PosternError(
      "config",
      `Cannot make the list: the install-config cannot be read: ${install.problem}`,
      {
        hint: "it is the ConfigMap kube-system/cluster-config-v1",
      },
    );
  }
  return {
    infrastructure: readInfrastructure(infrastructure),
    network: readNetwork(network),
    install: readInstallFacts(install?.value),
  };
}
