import type { Transport } from "../../core/mod.ts";
import type { World } from "../../world/mod.ts";
import { directDialer } from "../../http/mod.ts";
import { ClusterProxy, Direct } from "../../transports/mod.ts";
import { openClusterOfProgram } from "../cluster_of_program.ts";

/** The cluster whose accepted Proxy applies: the cluster of a kubeconfig, or the pod's own. */
export interface ClusterProxyChoice {
  readonly kubeconfig?: string;
}

/**
 * The transport from an agent to its server: direct, or through a cluster's accepted Proxy. Does not connect
 * yet.
 */
export async function serverTransport(
  choice: ClusterProxyChoice | undefined,
  world: World,
): Promise<Transport> {
  const { clock, network, files } = world;
  if (!choice) return new Direct({ network, clock });
  const cluster = await openClusterOfProgram(choice.kubeconfig, world);
  const proxy = new ClusterProxy({
    ...{ name: "the cluster's proxy", network, files, clock },
    dialer: directDialer({ network, clock }),
    api: () => Promise.resolve(cluster.api),
  });
  return {
    name: proxy.name,
    dial: (target, options) => proxy.dial(target, options),
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await cluster[Symbol.asyncDispose]();
    },
  };
}
