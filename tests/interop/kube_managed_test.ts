import assert from "node:assert/strict";
import { KubeHome, NamedServer } from "../support/kube_instance.ts";
import { pod, service } from "../support/kube_objects.ts";
import { peerTest } from "../support/peers.ts";
import { freePort, runPeer } from "../support/peer_program.ts";

peerTest(
  "instances with a cluster run in the background and stop by id",
  ["kubernetes", "curl", "sh"],
  async (peers, t) => {
    await using kube = await KubeHome.open(peers);
    const { cluster, home } = kube;
    await using web = new NamedServer("web");
    await cluster.apply(
      pod({ name: "web", labels: { app: "web" }, targets: { 80: web.address } }),
      service({ name: "web", selector: { app: "web" }, ports: [{ port: 80 }] }),
    );
    await cluster.untilReady("default", "web");
    const kubeconfig = await cluster.writeKubeconfig();
    const fetched = async (address: string) =>
      (await runPeer(peers.curl, [
        ...["--silent", "--max-time", "100", "--proxy", `socks5h://${address}`, "http://web.default.svc/"],
      ])).stdout;
    const pidOf = async (id: string) => {
      const { stdout } = await home.run(["status", "--id", id, "-o", "json"]);
      return JSON.parse(stdout)[0].pid as number;
    };
    {
      await using instance = await home.instance(["--kubernetes", "--kubeconfig", kubeconfig]);
      await kube.begins(instance, "http://web.default.svc/", "web");
    }
    const start = [
      "proxy",
      "--background",
      "--id",
      "work",
      "--listen",
      "127.0.0.1:0",
      "--kubeconfig",
      kubeconfig,
    ];

    await t.step("proxy --background --id ID --route …, status, stop ID", async () => {
      const { code, stdout, stderr } = await home.run([...start, "--route", ".svc=kubernetes:lab"]);
      assert.equal(code, 0, stderr);
      assert.equal(await fetched(/127\.0\.0\.1:\d+/.exec(stdout)?.[0] ?? ""), "web");
      const status = await home.run(["status"]);
      assert.match(status.stdout, new RegExp(`CONTEXT +SERVER[^]*lab +${cluster.address}`));
      assert.equal((await home.run(["stop", "work"])).code, 0);
      assert.equal((await home.run(["status"])).code, 3);
      assert.match((await home.run(["logs", "work"])).stdout, /conn\.done .*target=web\.default\.svc:80/);
    });
    await t.step("the id of a killed instance can be reused", async () => {
      assert.equal((await home.run([...start, "--kubernetes"])).code, 0);
      assert.equal((await runPeer(peers.sh, ["-c", `kill -9 ${await pidOf("work")}`])).code, 0);
      const again = await home.run([...start, "--kubernetes"]);
      assert.equal(again.code, 0, again.stderr);
      const other = await home.run([...start, "--kubernetes"]);
      assert.notEqual(other.code, 0, "two instances with one id");
      assert.equal((await home.run(["stop", "--all"])).code, 0);
    });
    await t.step("connect --socks, disconnect and quit, as in kubevpn", async () => {
      const address = `127.0.0.1:${freePort()}`;
      const { code, stderr } = await home.run([
        "connect",
        "--socks",
        "--socks-listen",
        address,
        "--kubeconfig",
        kubeconfig,
      ]);
      assert.equal(code, 0, stderr);
      assert.equal(await fetched(address), "web");
      assert.equal((await home.run(["disconnect", "default"])).code, 0);
      assert.equal((await home.run(["quit"])).code, 3);
      assert.equal((await home.run(["connect"])).code, 2);
    });
  },
);
