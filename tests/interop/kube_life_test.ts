import assert from "node:assert/strict";
import { KubeHome, NamedServer } from "../support/kube_instance.ts";
import { pod, service } from "../support/kube_objects.ts";
import { eventuallyInCluster } from "../support/kube_processes.ts";
import { isLongRun } from "../support/long_runs.ts";
import { peerTest } from "../support/peers.ts";

// An instance while pods, the API server, credentials and the machine itself come and go.

peerTest("an instance with a cluster survives changes in it", ["kubernetes", "curl"], async (peers, t) => {
  await using kube = await KubeHome.open(peers);
  const { cluster, home } = kube;
  await using one = new NamedServer("one");
  await using two = new NamedServer("two");
  const replica = (name: string, target: string | undefined) =>
    pod({
      name,
      labels: { app: "web" },
      ports: { http: 80 },
      ...(target !== undefined && { targets: { 80: target } }),
    });
  await cluster.apply(
    replica("web-1", one.address),
    service({ name: "web", selector: { app: "web" }, ports: [{ name: "http", port: 80 }] }),
    // No process listens on any port of these.
    ...["deaf-1", "deaf-2"].map((name) => pod({ name, labels: { app: "half" }, ports: { http: 80 } })),
    pod({ name: "hears", labels: { app: "half" }, ports: { http: 80 }, targets: { 80: two.address } }),
    service({ name: "half", selector: { app: "half" }, ports: [{ name: "http", port: 80 }] }),
  );
  await cluster.untilReady("default", "web");
  await cluster.untilReady("default", "half", 3);
  const token = `${cluster.directory}/token`;
  await Deno.writeTextFile(token, cluster.token("admin"));
  const kubeconfig = await cluster.writeKubeconfig({ user: { tokenFile: token } });
  await using instance = await home.instance(["--kubernetes", "--kubeconfig", kubeconfig]);
  const body = async (url: string) => {
    const { body, said } = await kube.fetch(instance, url);
    return body || said;
  };
  await kube.begins(instance, "http://web/", "one");
  const works = async (expected: string) =>
    await eventuallyInCluster(`web answers ${expected}`, async () => await body("http://web/") === expected);

  await t.step("after a refusal, another pod is tried", async () => {
    for (let left = 20; left > 0; left--) assert.equal(await body("http://half/"), "two");
    await instance.says(/kubernetes\.retried .*failed=default\/deaf-[12] next=default\//);
  });
  await t.step("a removed pod is not chosen again", async () => {
    await cluster.apply(replica("web-2", two.address));
    await cluster.untilReady("default", "web", 2);
    // The instance knows the new pod too.
    await works("two");
    await cluster.remove(replica("web-1", undefined));
    // Immediate, although the watch may lag: a vanished pod is replaced by another one.
    for (let left = 5; left > 0; left--) assert.equal(await body("http://web/"), "two");
  });
  await t.step("changed credentials are read again", async () => {
    const account = await cluster.serviceAccountToken("default", "default");
    await cluster.allow("default:default", undefined, [
      {
        apiGroups: ["", "discovery.k8s.io"],
        resources: ["services", "endpointslices"],
        verbs: ["list", "watch"],
      },
      { apiGroups: [""], resources: ["pods/portforward"], verbs: ["get", "create"] },
    ]);
    await Deno.writeTextFile(token, account);
    assert.equal(await body("http://web/"), "two");
  });
  await t.step("an API server that restarts", async () => {
    await cluster.stopApi();
    await cluster.startApi();
    await works("two");
  });
  await t.step("an API server that hangs for a while", async () => {
    cluster.signalApi("SIGSTOP");
    const waiting = body("http://web/");
    await new Promise((resolve) => setTimeout(resolve, 1000));
    cluster.signalApi("SIGCONT");
    await waiting;
    await works("two");
  });
  const sleep = isLongRun() ? 70 : 3;
  await t.step(`${sleep} s of sleep, during which the API server was replaced`, async () => {
    instance.kill("SIGSTOP");
    await cluster.stopApi();
    await cluster.startApi();
    await new Promise((resolve) => setTimeout(resolve, sleep * 1000));
    instance.kill("SIGCONT");
    await works("two");
  });
  await t.step("status shows the cluster", async () => {
    const { stdout } = await home.run(["status", "-o", "json"]);
    const [{ transports }] = JSON.parse(stdout);
    const [found] = transports.find(({ type }: { type: string }) => type === "kubernetes").clusters;
    assert.equal(found.name, "lab");
    assert.equal(found.server, cluster.address);
    assert.ok(found.watches.length >= 2, stdout);
  });
});

peerTest(
  "a Service stays reachable while its only pod is replaced repeatedly",
  ["kubernetes", "curl"],
  async (peers) => {
    await using kube = await KubeHome.open(peers);
    const { cluster, home } = kube;
    await using web = new NamedServer("web");
    const replica = (number: number) =>
      pod({
        name: `web-${number}`,
        labels: { app: "web" },
        ports: { http: 80 },
        targets: { 80: web.address },
      });
    await cluster.apply(
      replica(0),
      service({ name: "web", selector: { app: "web" }, ports: [{ name: "http", port: 80 }] }),
    );
    await cluster.untilReady("default", "web");
    await using instance = await home.instance([
      "--kubernetes",
      "--kubeconfig",
      await cluster.writeKubeconfig(),
    ]);
    await kube.begins(instance, "http://web/", "web");
    const rounds = isLongRun() ? 60 : 5;
    let isOver = false;
    const failures: string[] = [];
    let count = 0;
    const asking = (async () => {
      while (!isOver) {
        const { body, said } = await kube.fetch(instance, "http://web/");
        count++;
        if (body !== "web") failures.push(said);
      }
    })();
    for (let round = 1; round <= rounds; round++) {
      // The new pod is ready before the old one is removed, so there is always a ready endpoint.
      await cluster.apply(replica(round));
      await cluster.untilReady("default", "web", 2);
      await cluster.remove(replica(round - 1));
      await cluster.untilReady("default", "web", 1);
      if (isLongRun()) await new Promise((resolve) => setTimeout(resolve, 500));
    }
    isOver = true;
    await asking;
    assert.deepEqual(failures, [], `${failures.join("\n")}\n${instance.stderr}`);
  },
);
