import assert from "node:assert/strict";
import { KubeCluster } from "../support/kube_cluster.ts";
import { pod, service } from "../support/kube_objects.ts";
import { runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";

peerTest(
  "KubeCluster is a complete cluster",
  ["kubernetes", "kubectl"],
  async ({ kubernetes, kubectl }, t) => {
    await using cluster = await KubeCluster.start(kubernetes);
    const kubeconfig = await cluster.writeKubeconfig();
    // Without HOME, kubectl caches data in its working directory.
    const env = { HOME: cluster.directory };
    const kube = async (...args: string[]) => {
      const { code, stdout, stderr } = await runPeer(kubectl, ["--kubeconfig", kubeconfig, ...args], { env });
      assert.equal(code, 0, stderr);
      return stdout.trim();
    };
    await t.step("its node runs pods, and its controllers find them", async () => {
      await cluster.namespace("dev");
      await cluster.apply(
        pod({ name: "web-0", namespace: "dev", labels: { app: "web" }, targets: { 8080: "127.0.0.1:1" } }),
        pod({ name: "web-1", namespace: "dev", labels: { app: "web" }, ready: false }),
        service({
          name: "web",
          namespace: "dev",
          selector: { app: "web" },
          ports: [{ port: 80, targetPort: 8080 }],
        }),
      );
      await cluster.untilReady("dev", "web");
      assert.equal(await kube("get", "pods", "-n", "dev", "-o", "name"), "pod/web-0\npod/web-1");
      assert.equal((await cluster.forwards()).streams, 0);
    });
    await t.step("changes take effect", async () => {
      await cluster.apply(pod({ name: "web-1", namespace: "dev", labels: { app: "web" } }));
      await cluster.untilReady("dev", "web", 2);
      await cluster.remove(pod({ name: "web-0", namespace: "dev" }));
      await cluster.untilReady("dev", "web", 1);
    });
    await t.step("its users have the rights of their roles", async () => {
      const token = cluster.token("alice");
      const mayList = async () =>
        (await runPeer(kubectl, ["--kubeconfig", kubeconfig, "--token", token, "-n", "dev", "get", "pods"], {
          env,
        }))
          .code === 0;
      assert.equal(await mayList(), false);
      await cluster.allow("alice", "dev", [{ apiGroups: [""], resources: ["pods"], verbs: ["get", "list"] }]);
      while (!await mayList());
      const account = await cluster.serviceAccountToken("dev", "default");
      assert.match(
        await kube("auth", "whoami", "--token", account, "-o", "jsonpath={.status.userInfo.username}"),
        /./,
      );
    });
    await t.step("its API server restarts at the same address", async () => {
      const { address } = cluster;
      const before = await cluster.requests({ resource: "pods", verb: "LIST" });
      assert.ok(before > 0);
      await cluster.stopApi();
      await assert.rejects(cluster.ask("GET", "/readyz"), TypeError);
      await cluster.startApi();
      assert.equal(cluster.address, address);
      assert.equal(await kube("get", "pods", "-n", "dev", "-o", "name"), "pod/web-1");
    });
  },
);
