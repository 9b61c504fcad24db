import assert from "node:assert/strict";
import { KubeHome, NamedServer } from "../support/kube_instance.ts";
import { pod, service } from "../support/kube_objects.ts";
import { eventuallyInCluster } from "../support/kube_processes.ts";
import { guideRules } from "../support/kube_role.ts";
import { peerTest } from "../support/peers.ts";
import { RawClient } from "../support/raw_client.ts";
import { echoServer } from "../support/target_server.ts";

// A silent node and a revoked token, with the real program and a real cluster.

peerTest("a node that falls silent ends its connections", ["kubernetes", "curl"], async (peers, t) => {
  await using kube = await KubeHome.open(peers);
  const { cluster, home } = kube;
  await using web = new NamedServer("web");
  await using echo = echoServer();
  await cluster.apply(
    pod({ name: "web", labels: { app: "web" }, targets: { 80: web.address, 7: echo.address } }),
    service({
      name: "web",
      selector: { app: "web" },
      ports: [{ name: "http", port: 80 }, { name: "echo", port: 7 }],
    }),
  );
  await cluster.untilReady("default", "web");
  await using instance = await home.instance([
    "--kubernetes",
    "--kubeconfig",
    await cluster.writeKubeconfig(),
  ]);
  const broken = async () => {
    const { stdout } = await home.run(["status", "-o", "json"]);
    const [{ transports }] = JSON.parse(stdout);
    return transports.find(({ type }: { type: string }) => type === "kubernetes").clusters[0].broken;
  };
  await kube.begins(instance, "http://web/", "web");
  assert.equal(await broken(), 0);
  using client = await RawClient.connect(await instance.address());
  await client.send("CONNECT web:7 HTTP/1.1\r\nHost: web:7\r\n\r\n");
  assert.match(await client.takeUntil("\r\n\r\n"), /^HTTP\/1.1 200 /);
  await client.send("before");
  assert.equal(new TextDecoder().decode(await client.take(6)), "before");
  await t.step("its clients are disconnected, and the log contains the reason", async () => {
    cluster.signalNode("SIGSTOP");
    try {
      await client.send("into the dark");
      // Deno's sockets cannot send a reset, so the client sees a different end depending on the moment.
      assert.equal(await client.restText(), "");
    } finally {
      cluster.signalNode("SIGCONT");
    }
    await instance.says(/kubernetes\.session_broken .*cluster=lab .*pod=default\/web/);
    await instance.says(/conn\.done .*target=web:7 .*outcome=target_gone/);
  });
  await t.step("the session counts as broken, and another one replaces it", async () => {
    assert.equal(await broken(), 1);
    await kube.begins(instance, "http://web/", "web");
  });
});

peerTest(
  "a revoked token is replaced or reported",
  ["kubernetes", "curl"],
  async (peers, t) => {
    await using kube = await KubeHome.open(peers);
    const { cluster, home } = kube;
    await using web = new NamedServer("web");
    const robot = {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "robot", namespace: "default" },
    };
    await cluster.apply(
      robot,
      ...["one", "two", "three"].flatMap((name) => [
        pod({ name, labels: { app: name }, targets: { 80: web.address } }),
        service({ name, selector: { app: name }, ports: [{ port: 80 }] }),
      ]),
    );
    await cluster.allow("default:robot", "default", guideRules());
    for (const name of ["one", "two", "three"]) await cluster.untilReady("default", name);
    const token = await cluster.serviceAccountToken("default", "robot");
    const kubeconfig = await cluster.writeKubeconfig({ user: { token } });
    await using instance = await home.instance(["--kubernetes", "--kubeconfig", kubeconfig]);
    // A role takes effect after a moment; if the program cannot reach any cluster, fail here.
    await kube.begins(instance, "http://one/", "web");
    // A recreated service account is a different identity: tokens of the first one are invalid.
    await cluster.remove(robot);
    await cluster.apply(robot);
    await eventuallyInCluster("the token is refused", async () => !await cluster.knows(token));
    await t.step("without another token, the client gets the cluster and the sign-in problem", async () => {
      // No session exists for this pod, so it needs a request.
      const proxy = ["--proxytunnel", "--proxy", `http://${await instance.address()}`, "-D", "-"];
      const { body, said } = await kube.fetch(instance, "http://two/", ...proxy);
      assert.match(
        body,
        /^HTTP\/1.1 403 [^]*Postern-Error: auth; [^\n]* of lab: Unauthorized/,
        said,
      );
    });
    await t.step("an existing session continues", async () => {
      await kube.begins(instance, "http://one/", "web");
    });
    await t.step("a token that was written meanwhile is used when the old one is rejected", async () => {
      await cluster.writeKubeconfig({
        user: { token: await cluster.serviceAccountToken("default", "robot") },
      });
      await kube.begins(instance, "http://two/", "web");
      await kube.begins(instance, "http://three/", "web");
    });
  },
);
