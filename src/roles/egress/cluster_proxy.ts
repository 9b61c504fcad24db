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

/** The cluster to read from. */
export interface ClusterSource {
  /** A kubeconfig file (default: the files of `KUBECONFIG`, otherwise `~/.kube/config`). */
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
}

/** Reads a cluster's proxy and its inputs. Writes nothing. */
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

/** The platform facts of a cluster; throws when an object is missing or unreadable. */
export function factsOfCluster({ infrastructure, network, install }: ProxyInputs): PlatformFacts {
  const missing = [
    ...(infrastructure ? [] : ["Infrastructure/cluster"]),
    ...(network ? [] : ["Network/cluster"]),
  ];
  if (missing.length > 0) {
    throw new PosternError(
      "config",
      `Cannot compute the no-proxy list: the cluster has no ${missing.join(" and no ")}`,
      {
        hint: "give its facts as options: postern egress no-proxy --help",
      },
    );
  }
  if (install && "problem" in install) {
    throw new PosternError(
      "config",
      `Cannot compute the no-proxy list: cannot read the install-config: ${install.problem}`,
      {
        hint: "check the ConfigMap kube-system/cluster-config-v1",
      },
    );
  }
  return {
    infrastructure: readInfrastructure(infrastructure),
    network: readNetwork(network),
    install: readInstallFacts(install?.value),
  };
}
