import assert from "node:assert/strict";
import { KubeClient } from "../../src/kube/api/kube_client.ts";
import { KubeView } from "../../src/kube/api/kube_view.ts";
import { readKubeConfig } from "../../src/kube/api/kube_config.ts";
import { directDialer } from "../../src/http/mod.ts";
import { createWorld } from "../../src/runtime/mod.ts";
import { KubeCluster } from "../support/kube_cluster.ts";
import { makeCrowd } from "../support/kube_crowd.ts";
import { isLongRun } from "../support/long_runs.ts";
import { peerTest } from "../support/peers.ts";

const { signal } = new AbortController();
const { clock, files, network, process } = createWorld({ main: import.meta.url, flags: [] });
const megabyte = 1_000_000;

// Creating ten thousand Services takes minutes: only the nightly run does, and measures.
const services = isLongRun() ? 10_000 : 600;
const namespaces = 20;

peerTest(
  `KubeView holds ${services} Services of a real API server`,
  ["kubernetes"],
  async ({ kubernetes }, t) => {
    await using cluster = await KubeCluster.start(kubernetes);
    await makeCrowd(cluster, { services, namespaces });
    const kubeconfig = await cluster.writeKubeconfig();
    const context = (await readKubeConfig(files, [kubeconfig])).context("lab");
    for (
      const { scope, most, limits } of [
        { scope: "crowd-3", most: services / namespaces, limits: { ms: 1_000, bytes: 60 * megabyte } },
        { scope: undefined, most: services, limits: { ms: 5_000, bytes: 150 * megabyte } },
      ]
    ) {
      await t.step(scope === undefined ? "of the whole cluster" : "of one namespace", async () => {
        const dial = directDialer({ clock, network });
        await using client = new KubeClient(context, { clock, files, network, process, dial });
        await using view = new KubeView({ api: client, clock });
        const before = Deno.memoryUsage().rss;
        const begun = performance.now();
        await view.ready(scope, { signal });
        const ms = performance.now() - begun;
        const bytes = Deno.memoryUsage().rss - before;
        let found = 0;
        for (let index = 0; index < services; index++) {
          const namespace = `crowd-${index % namespaces}`;
          if (scope !== undefined && namespace !== scope) continue;
          const service = view.service(namespace, `service-${index}`);
          const [slice] = view.endpoints(namespace, `service-${index}`);
          const [ip = ""] = service?.clusterIps ?? [];
          assert.ok(service && view.byClusterIp(ip) === service, `service-${index}`);
          assert.equal(slice?.endpoints[1]?.pod, `service-${index}-6d5b4c7f98-abcd1`);
          found++;
        }
        const each = lookTime(view);
        assert.equal(found, most);
        // Two watches, and no list for the lookups.
        assert.equal(client.status().requests, 2);
        console.log(
          `${scope ?? "all"}: ${ms.toFixed(0)} ms, ${(bytes / megabyte).toFixed(0)} MB, ${
            each.toFixed(1)
          } µs a look`,
        );
        if (!isLongRun()) return;
        assert.ok(ms < limits.ms, `${ms} ms`);
        assert.ok(bytes < limits.bytes, `${bytes} bytes`);
        assert.ok(each < 50, `${each} µs`);
      });
    }
  },
);

/**
 * The duration of looking up a Service, its address and its endpoints, in µs: the best of several rounds, for
 * a busy machine.
 */
function lookTime(view: KubeView): number {
  const names = [...view.services("crowd-3")].map(({ name }) => name);
  const rounds = Array.from({ length: 20 }, () => {
    const begun = performance.now();
    for (const name of names) {
      view.byClusterIp(view.service("crowd-3", name)?.clusterIps[0] ?? "");
      view.endpoints("crowd-3", name);
    }
    return (performance.now() - begun) * 1000 / names.length;
  });
  return Math.min(...rounds);
}
