import assert from "node:assert/strict";
import type { KubeCluster } from "../support/kube_cluster.ts";
import { crowdNamespace, makeCrowd } from "../support/kube_crowd.ts";
import { KubeHome, NamedServer } from "../support/kube_instance.ts";
import { pod, service } from "../support/kube_objects.ts";
import { isLongRun } from "../support/long_runs.ts";
import { runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import type { Instance } from "../support/postern_process.ts";

// The real program with a large cluster: the cost of the first dial, and the requests of later ones.

// Creating ten thousand Services takes minutes: only the nightly run does, and measures.
const services = isLongRun() ? 10_000 : 500;
const namespaces = 20;
const pods = isLongRun() ? 20_000 : 0;
const megabyte = 1_000_000;

peerTest("an instance with a crowd of Services", ["kubernetes", "curl", "sh"], async (peers, t) => {
  await using kube = await KubeHome.open(peers);
  const { cluster, home } = kube;
  await using web = new NamedServer("web");
  const namespace = crowdNamespace(3);
  await cluster.namespace(namespace);
  await cluster.apply(
    pod({ name: "web", namespace, labels: { app: "web" }, targets: { 80: web.address } }),
    service({ name: "web", namespace, selector: { app: "web" }, ports: [{ port: 80 }] }),
  );
  await cluster.untilReady(namespace, "web");
  const { spec: { clusterIP } } = await cluster.json(
    "GET",
    `/api/v1/namespaces/${namespace}/services/web`,
  ) as {
    spec: { clusterIP: string };
  };
  await home.configure(`
transports: { lab: { kubernetes: { kubeconfig: ${await cluster.writeKubeconfig()} } } }
routes: [{ to: [.svc, 10.96.0.0/16], via: lab }]
`);
  const name = `http://web.${namespace}.svc/`;
  {
    // If the program cannot reach the cluster, fail before creating the crowd.
    await using instance = await home.instance(["--id", "begins"]);
    await kube.begins(instance, name, "web");
  }
  await makeCrowd(cluster, { services, namespaces, pods });

  const memory = async (instance: Instance) => {
    const { stdout } = await runPeer(peers.sh, ["-c", `cat /proc/${instance.pid}/status`]);
    return Number(/^VmRSS:\s+([0-9]+) kB$/m.exec(stdout)?.[1] ?? assert.fail(stdout)) * 1024;
  };
  const scopes = [
    { what: "one namespace", url: name, limits: { ms: 1_000, bytes: 60 * megabyte }, held: [namespace] },
    {
      what: "the whole cluster",
      url: `http://${clusterIP}/`,
      limits: { ms: 5_000, bytes: 150 * megabyte },
      held: ["*"],
    },
  ];
  for (const { what, url, limits, held } of scopes) {
    await t.step(`the first dial to ${what}`, async () => {
      await using instance = await home.instance(["--id", what.replaceAll(" ", "-")]);
      const before = await memory(instance);
      const begun = performance.now();
      await kube.begins(instance, url, "web");
      const ms = performance.now() - begun;
      const bytes = await memory(instance) - before;
      console.log(
        `${what}: ${ms.toFixed(0)} ms, ${(bytes / megabyte).toFixed(0)} MB more than an empty instance`,
      );
      const { stdout } = await home.run(["status", "--id", what.replaceAll(" ", "-"), "-o", "json"]);
      const [{ transports }] = JSON.parse(stdout);
      const [found] = transports.find(({ type }: { type: string }) => type === "kubernetes").clusters;
      const scoped = new Set(
        found.watches.map(({ namespace }: { namespace?: string }) => namespace ?? "*"),
      );
      assert.ok(held.every((one) => scoped.has(one)), JSON.stringify(found.watches));
      const lists = await listCount(cluster);
      for (let left = 5; left > 0; left--) await kube.begins(instance, url, "web");
      assert.equal(await listCount(cluster), lists, "a dial requested a list");
      if (!isLongRun()) return;
      assert.ok(ms < limits.ms, `${ms} ms`);
      assert.ok(bytes < limits.bytes, `${bytes} bytes`);
    });
  }
});

/** The number of lists requested from the API server that a dial could cause. */
async function listCount(cluster: KubeCluster): Promise<number> {
  const counts = await Promise.all(
    ["services", "endpointslices", "pods"].map((resource) => cluster.requests({ resource, verb: "LIST" })),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}
