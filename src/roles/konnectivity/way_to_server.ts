import type { Transport } from "../../core/mod.ts";
import type { World } from "../../world/mod.ts";
import { directDialer } from "../../http/mod.ts";
import { ClusterProxy, Direct } from "../../transports/mod.ts";
import { openClusterOfProgram } from "../cluster_of_program.ts";

/** Whose accepted Proxy leads to the server: the cluster of a kubeconfig, or the one it runs in. */
export interface ClusterProxyChoice {
  readonly kubeconfig?: string;
}

/** How an agent reaches its server: straight, or as a cluster's accepted Proxy says. Dials nothing yet. */
export async function wayToServer(choice: ClusterProxyChoice | undefined, world: World): Promise<Transport> {
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
