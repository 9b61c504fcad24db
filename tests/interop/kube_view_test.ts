import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { KubeClient } from "../../src/kube/api/kube_client.ts";
import { KubeView } from "../../src/kube/api/kube_view.ts";
import { readKubeConfig } from "../../src/kube/api/kube_config.ts";
import { directDialer } from "../../src/http/mod.ts";
import type { Dialer } from "../../src/world/mod.ts";
import type { PosternError } from "../../src/words/mod.ts";
import { createWorld } from "../../src/runtime/mod.ts";
import { KubeCluster } from "../support/kube_cluster.ts";
import { service } from "../support/kube_objects.ts";
import { eventuallyInCluster, makeCertificates } from "../support/kube_processes.ts";
import { peerTest } from "../support/peers.ts";

const { signal } = new AbortController();
const { clock, files, network, process } = createWorld({ main: import.meta.url, flags: [] });

/** A client for a kubeconfig's context, and the number of its dials. */
async function clientOf(path: string): Promise<KubeClient & { readonly dials: number }> {
  const context = (await readKubeConfig(files, [path])).context("lab");
  const straight = directDialer({ clock, network });
  let dials = 0;
  const dial: Dialer = (target, options) => {
    dials++;
    return straight(target, options);
  };
  const client = new KubeClient(context, { clock, files, network, process, dial });
  return Object.defineProperty(client, "dials", { get: () => dials }) as KubeClient & { dials: number };
}

const web = (name: string) =>
  service({ name, namespace: "dev", selector: { app: name }, ports: [{ port: 80 }] });

peerTest("a real API server accepts KubeClient", ["kubernetes"], async ({ kubernetes }, t) => {
  await using cluster = await KubeCluster.start(kubernetes);
  await makeCertificates(kubernetes, cluster.directory, [
    { name: "person", commonName: "admin", organization: ["system:masters"] },
  ]);
  const credential = JSON.stringify({
    apiVersion: "client.authentication.k8s.io/v1",
    kind: "ExecCredential",
    status: { token: cluster.token("admin") },
  });
  const plugin = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: Deno.execPath(),
    args: ["eval", `console.log(${JSON.stringify(credential)})`],
    interactiveMode: "Never",
  };
  const file = (name: string) => `${cluster.directory}/${name}`;
  await Deno.writeTextFile(file("token"), `${cluster.token("admin")}\n`);
  const users: readonly { name: string; user: Readonly<Record<string, unknown>> }[] = [
    { name: "a token", user: { token: cluster.token("admin") } },
    { name: "a token in a file", user: { tokenFile: file("token") } },
    {
      name: "a certificate in files",
      user: { "client-certificate": file("person.crt"), "client-key": file("person.key") },
    },
    {
      name: "a certificate",
      user: {
        "client-certificate-data": btoa(await Deno.readTextFile(file("person.crt"))),
        "client-key-data": btoa(await Deno.readTextFile(file("person.key"))),
      },
    },
    { name: "a plugin's output", user: { exec: plugin } },
  ];
  for (const { name, user } of users) {
    await t.step(`with ${name}`, async () => {
      await using client = await clientOf(await cluster.writeKubeconfig({ name: "user", user }));
      const list = await client.json({ path: "/api/v1/namespaces" }, { signal }) as { items: unknown[] };
      assert.ok(list.items.length > 0);
      await client.askVersion({ signal });
      assert.match(client.status().version ?? "", /^v[0-9]+\./);
      assert.equal(client.dials, 1);
    });
  }
  await t.step("as another user with fewer rights", async () => {
    const user = { token: cluster.token("admin"), as: "alice", "as-groups": ["system:authenticated"] };
    await using client = await clientOf(await cluster.writeKubeconfig({ name: "as", user }));
    await assert.rejects(client.json({ path: "/api/v1/secrets" }, { signal }), (error: PosternError) => {
      assert.equal(error.code, "not_allowed");
      assert.match(error.message, /"alice" may not list secrets in all namespaces$/);
      return true;
    });
  });
  const strangers: readonly { name: string; cluster: Readonly<Record<string, unknown>>; message?: RegExp }[] =
    [
      {
        name: "not with an authority that did not sign it",
        cluster: {
          "certificate-authority": fileURLToPath(new URL("../support/tls/ca.crt", import.meta.url)),
        },
        message: /its certificate is not signed by a trusted certificate authority/,
      },
      {
        name: "not with another name",
        cluster: { "tls-server-name": "other.example.net" },
        message: /its certificate is for other names/,
      },
      { name: "with a name in its certificate", cluster: { "tls-server-name": "localhost" } },
      {
        name: "unverified if the kubeconfig says so",
        cluster: { "certificate-authority": undefined, "insecure-skip-tls-verify": true },
      },
    ];
  for (const { name, cluster: more, message } of strangers) {
    await t.step(name, async () => {
      await using client = await clientOf(await cluster.writeKubeconfig({ name: "stranger", cluster: more }));
      const asked = client.json({ path: "/api/v1/namespaces" }, { signal });
      if (!message) return void await asked;
      await assert.rejects(asked, (error: PosternError) => {
        assert.equal(error.code, "auth");
        assert.match(error.message, message);
        return true;
      });
    });
  }
  await t.step("not with a wrong token, and the error names the cluster", async () => {
    await using client = await clientOf(await cluster.writeKubeconfig({ name: "bad", token: "wrong" }));
    await assert.rejects(client.json({ path: "/api/v1/namespaces" }, { signal }), (error: PosternError) => {
      assert.equal(error.code, "auth");
      assert.match(error.message, /^Cannot sign in to the cluster "lab"/);
      return true;
    });
  });
});

const rules = [
  { apiGroups: [""], resources: ["services"], verbs: ["list", "watch"] },
  { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["list", "watch"] },
];

for (
  const { name, apiOptions } of [
    { name: "a real API server", apiOptions: [] },
    { name: "a real API server without WatchList", apiOptions: ["--feature-gates=WatchList=false"] },
  ]
) {
  peerTest(`KubeView follows ${name}`, ["kubernetes"], async ({ kubernetes }, t) => {
    await using cluster = await KubeCluster.start(kubernetes, { apiOptions });
    await cluster.namespace("dev");
    await cluster.apply(web("web"));
    await using client = await clientOf(await cluster.writeKubeconfig());
    await using view = new KubeView({ api: client, clock });
    const has = (name: string, isThere = true) =>
      eventuallyInCluster(
        `${name} is ${isThere ? "" : "not "}held`,
        () => Promise.resolve((view.service("dev", name) !== undefined) === isThere),
      );
    await t.step("initial objects and changes", async () => {
      await view.ready("dev", { signal });
      const [ip = assert.fail()] = view.service("dev", "web")?.clusterIps ?? [];
      assert.equal(view.byClusterIp(ip)?.name, "web");
      await eventuallyInCluster(
        "its slice is in memory",
        () => Promise.resolve(view.endpoints("dev", "web").length > 0),
      );
      await cluster.apply(web("more"));
      await has("more");
      await cluster.remove(web("web"));
      await has("web", false);
      assert.equal(client.status().requests, apiOptions.length === 0 ? 2 : 6);
    });
    await t.step("after an outage of the server", async () => {
      await cluster.stopApi();
      await eventuallyInCluster(
        "the outage is noticed",
        () => Promise.resolve(view.status().watches.every(({ state }) => state === "resuming")),
      );
      assert.equal(view.isReady("dev"), true);
      assert.ok(view.service("dev", "more"));
      await cluster.startApi();
      await cluster.apply(web("again"));
      await has("again");
      await eventuallyInCluster(
        "both watches continue",
        () => Promise.resolve(view.status().watches.every(({ state }) => state === "watching")),
      );
      // Resumed or listed again: a restarted server remembers only the last change.
      assert.ok(view.service("dev", "more"));
    });
    await t.step("in the namespaces that a user may read, with the missing right", async () => {
      await cluster.allow("alice", "dev", rules);
      const path = await cluster.writeKubeconfig({ name: "alice", token: cluster.token("alice") });
      await using client = await clientOf(path);
      await using view = new KubeView({ api: client, clock });
      // A role takes effect after a moment.
      await eventuallyInCluster(
        "alice has the right",
        () => view.ready("dev", { signal }).then(() => true, () => false),
      );
      assert.ok(view.service("dev", "more"));
      await assert.rejects(view.ready(undefined, { signal }), (error: PosternError) => {
        assert.equal(error.code, "not_allowed");
        assert.match(error.message, /"alice" may not (?:list|watch) \S+ in all namespaces$/);
        return true;
      });
    });
  });
}
