import { PosternError, type World } from "../../core/mod.ts";
import {
  loadEgressController,
  type PlatformFacts,
  type ProxyInputs,
  readInfrastructure,
  readInstallFacts,
  readNetwork,
} from "../../egress/mod.ts";
import { openClusterOfProgram } from "../programs/cluster_of_program.ts";

/** Which cluster is asked. */
export interface ClusterSource {
  /** `KUBECONFIG`, else the file in the home directory, unless told. */
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
    import("../../clusters/mod.ts").then(({ loadKubernetes }) => loadKubernetes()),
    loadEgressController(),
  ]);
  await using cluster = await openClusterOfProgram(kubeconfig ?? usualKubeconfig(world), world, { context });
  const objects = new KubeObjects(cluster.api);
  return await readProxyInputs((kind, place) => objects.read(kind, place, { signal }));
}

/** What a cluster says of its platform; an object that is missing is an error. */
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
  return {
    infrastructure: readInfrastructure(infrastructure),
    network: readNetwork(network),
    install: readInstallFacts(install && "value" in install ? install.value : undefined),
  };
}

function usualKubeconfig({ process, places }: World): string {
  const separator = process.platform === "windows" ? ";" : ":";
  const [first] = (process.env("KUBECONFIG") ?? "").split(separator).filter((path) => path !== "");
  return first ?? `${places.home}/.kube/config`;
}
