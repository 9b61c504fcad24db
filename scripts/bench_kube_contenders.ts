import { KubeCluster } from "../tests/support/kube_cluster.ts";
import { pod, service } from "../tests/support/kube_objects.ts";
import { asForward, type Contender, startOnPort, startPostern, startReady } from "./bench_contenders.ts";
import { findPeers } from "./find_peers.ts";
import { freePort } from "../tests/support/peer_program.ts";

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
  /** Starts postern like `postern`, with a forward to the pod. */
  forward(): Promise<Contender>;
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
  const start = (more = "") => {
    const lab = `transports: { lab: { kubernetes: { kubeconfig: ${JSON.stringify(kubeconfig)} } } }\n`;
    return startPostern(directory, `${lab}default: lab\n${more}`, { isFromSource: true });
  };
  return {
    kubeconfig,
    api: cluster.address,
    postern: async () => askingForOrigin(await start()),
    forward: async () => {
      const at = `127.0.0.1:${freePort()}`;
      const listen = `listen: { forward: { "${at}": "origin.default.svc:${port}" } }\n`;
      return asForward(await start(listen), at);
    },
    kubectl: async () => {
      return asForward(
        await startOnPort("kubectl", (local) => [
          ...[kubectl.path, "--kubeconfig", kubeconfig, "port-forward", "pod/origin"],
          `${local}:${port}`,
        ], { HOME: directory }),
      );
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
