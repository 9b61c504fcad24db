import { KubeCluster } from "../tests/support/kube_cluster.ts";
import { pod, service } from "../tests/support/kube_objects.ts";
import { type Contender, startOnPort, startPostern, startReady } from "./bench_contenders.ts";
import { findPeers } from "./find_peers.ts";

/** A real cluster on loopback with one pod: the origin for the load generator. */
export interface KubeBench extends AsyncDisposable {
  readonly kubeconfig: string;
  /** The address of the API server. */
  readonly api: string;
  /**
   * Starts postern from source: compiled with the runtime of the package registry, it cannot reach an API
   * server.
   */
  postern(): Promise<Contender>;
  /** Starts `kubectl port-forward` to the same pod. */
  kubectl(): Promise<Contender>;
}

/** The pod's port; its node forwards this port to the origin. */
const port = 80;

/** Makes the load generator request the origin through a proxy. */
export function askingForOrigin(contender: Contender): Contender {
  return { ...contender, way: ["-proxy", contender.address, "-target", `origin.default.svc:${port}`] };
}

/** Starts the bench; if a peer is missing, prints the reason and returns undefined. */
export async function startKubeBench(directory: string): Promise<KubeBench | undefined> {
  const { kubernetes, kubectl, loadgen } = await findPeers();
  for (const found of [kubernetes, kubectl, loadgen]) {
    if (!("missing" in found)) continue;
    console.log(`skipped: kubernetes: ${found.missing}`);
    return undefined;
  }
  if (!("path" in kubernetes && "path" in kubectl && "path" in loadgen)) return undefined;
  await using stack = new AsyncDisposableStack();
  const origin = stack.use(await startReady("origin", [loadgen.path, "origin"]));
  const cluster = stack.use(await KubeCluster.start(kubernetes.path));
  const labels = { app: "origin" };
  await cluster.apply(
    pod({ name: "origin", labels, targets: { [port]: origin.address } }),
    service({ name: "origin", selector: labels, ports: [{ port }] }),
  );
  await cluster.untilReady("default", "origin");
  const kubeconfig = await cluster.writeKubeconfig();
  const kept = stack.move();
  return {
    kubeconfig,
    api: cluster.address,
    postern: async () => {
      const lab = `transports: { lab: { kubernetes: { kubeconfig: ${JSON.stringify(kubeconfig)} } } }\n`;
      return askingForOrigin(
        await startPostern(directory, `${lab}default: lab\n`, { isFromSource: true }),
      );
    },
    kubectl: async () => {
      const contender = await startOnPort("kubectl", (local) => [
        ...[kubectl.path, "--kubeconfig", kubeconfig, "port-forward", "pod/origin"],
        `${local}:${port}`,
      ], { HOME: directory });
      return { ...contender, way: ["-target", contender.address] };
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
