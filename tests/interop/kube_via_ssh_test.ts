import assert from "node:assert/strict";
import { KubeCluster } from "../support/kube_cluster.ts";
import { NamedServer } from "../support/kube_instance.ts";
import { pod, service } from "../support/kube_objects.ts";
import { runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { openSshHousehold, sshHostLines } from "../support/ssh_household.ts";
import { SshLab, sshPeers } from "../support/sshd.ts";

peerTest(
  "the API server is reached through a chain of three ssh hosts",
  [...sshPeers, "curl", "kubernetes"],
  async (paths, t) => {
    await using lab = await SshLab.create(paths);
    const [one, two, three] = [await lab.start("one"), await lab.start("two"), await lab.start("three")];
    await using cluster = await KubeCluster.start(paths.kubernetes);
    await using web = new NamedServer("web");
    await cluster.apply(
      pod({ name: "web", labels: { app: "web" }, targets: { 80: web.address } }),
      service({ name: "web", selector: { app: "web" }, ports: [{ port: 80 }] }),
    );
    await cluster.untilReady("default", "web");
    const kubeconfig = await cluster.writeKubeconfig({});
    const proxied = await cluster.writeKubeconfig({
      name: "proxied",
      cluster: { "proxy-url": "http://127.0.0.1:1" },
    });
    await using home = await openSshHousehold(lab, {
      ssh: [
        ...sshHostLines("one", one),
        ...sshHostLines("two", two, "ProxyJump one"),
        ...sshHostLines("three", three, "ProxyJump two"),
      ],
      postern: [
        "transports:",
        "  chain: { ssh: three }",
        `  lab: { kubernetes: { kubeconfig: "${kubeconfig}" }, via: chain }`,
        `  straight: { kubernetes: { kubeconfig: "${proxied}", suffix: straight.internal } }`,
        `  behind: { kubernetes: { kubeconfig: "${proxied}", suffix: behind.internal }, via: chain }`,
        "routes:",
        "  - { to: .svc, via: lab }",
        "  - { to: .straight.internal, via: straight }",
        "  - { to: .behind.internal, via: behind }",
      ],
    });
    await using instance = await home.instance();
    const proxy = `socks5h://${await instance.address()}`;
    const fetched = (host: string) =>
      runPeer(paths.curl, [
        "--silent",
        "--show-error",
        "--max-time",
        "100",
        "--proxy",
        proxy,
        `http://${host}/`,
      ]);
    const begun = await fetched("web.default.svc");
    if (begun.stdout !== "web") await instance.says(/conn\.done/);
    assert.equal(begun.stdout, "web", begun.stderr + instance.stderr);
    await t.step("every request and every forward", async () => {
      for (let left = 2; left > 0; left--) {
        const { stdout, stderr } = await fetched("web.default.svc");
        assert.equal(stdout, "web", stderr + instance.stderr);
      }
      assert.deepEqual([one.signIns, two.signIns, three.signIns], [1, 1, 1]);
      const { stdout } = await home.run(["explain", "web.default.svc:80"]);
      assert.match(stdout, /chain \(ssh [^)]*\) > lab \(kubernetes/);
    });
    await t.step("the kubeconfig's proxy is used, and reached through via", async () => {
      for (const name of ["straight", "behind"]) {
        assert.notEqual((await fetched(`web.default.${name}.internal`)).code, 0);
        await instance.says(new RegExp(`transport=${name} .*127\\.0\\.0\\.1:1\\b`));
      }
    });
  },
);
