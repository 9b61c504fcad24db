import { KubeCluster } from "../support/kube_cluster.ts";
import { pod, service } from "../support/kube_objects.ts";
import { RoughLine } from "../support/rough_line.ts";
import { freezing, lineFaults, type LivePart, pause, restarting, type WorldSection } from "./live_parts.ts";

/** Starts a cluster with a pod for each route into it. */
export async function startCluster(
  { kubernetes }: { readonly kubernetes: string },
  started: AsyncDisposableStack,
  targets: Readonly<Record<"lab" | "behind", number>>,
): Promise<
  WorldSection & {
    readonly cluster: KubeCluster;
    readonly targetOf: (way: string) => { host: string; port: number } | undefined;
  }
> {
  const cluster = started.use(await KubeCluster.start(kubernetes, { linger: "none" }));
  const ways = ["lab", "behind"] as const;
  await cluster.apply(...ways.flatMap((name) => [
    pod({ name, labels: { app: name }, targets: { 7: `127.0.0.1:${targets[name]}` } }),
    service({ name, selector: { app: name }, ports: [{ port: 7 }] }),
  ]));
  for (const name of ways) await cluster.untilReady("default", name);
  const line = started.use(new RoughLine(() => Number(cluster.address.split(":")[1])));
  const kubeconfig = await cluster.writeKubeconfig({
    cluster: { server: `https://127.0.0.1:${line.port}` },
  });
  const settings = (suffix: string) =>
    `kubernetes: { kubeconfig: ${JSON.stringify(kubeconfig)}, suffix: ${suffix}.internal }`;
  const parts: LivePart[] = [
    {
      name: "api",
      ways,
      kinds: [
        ...lineFaults(line),
        freezing(() => ({ kill: (signal) => cluster.signalApi(signal) })),
        restarting(async (lasts) => {
          await cluster.stopApi();
          await pause(lasts);
          await cluster.startApi();
        }),
      ],
    },
    { name: "node", ways, kinds: [freezing(() => ({ kill: (signal) => cluster.signalNode(signal) }))] },
  ];
  return {
    cluster,
    parts,
    transports: [`  lab: { ${settings("lab")} }`, `  behind: { ${settings("behind")}, via: one }`],
    targetOf: (name: string) =>
      name === "lab" || name === "behind" ? { host: `${name}.default.${name}.internal`, port: 7 } : undefined,
  };
}
