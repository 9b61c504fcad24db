import assert from "node:assert/strict";
import { ApiLine } from "../support/api_line.ts";
import { islandTests, neighbor } from "../support/island.ts";
import { KubeCluster } from "../support/kube_cluster.ts";
import { NamedServer } from "../support/kube_instance.ts";
import { pod, service } from "../support/kube_objects.ts";
import { eventuallyInCluster } from "../support/kube_processes.ts";
import { guideRules } from "../support/kube_role.ts";
import { LeakPlace } from "../support/leak_place.ts";
import { Outside } from "../support/outside.ts";
import { freePort } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { TargetServer } from "../support/target_server.ts";

// A cluster's traffic goes to that cluster or nowhere, whatever postern currently knows about it: every
// address of the test network is this machine, where a server records leaked connections, with the clients'
// passwords.

islandTests("a cluster's traffic never leaves by another route", import.meta.url, () => {
  peerTest("a cluster's traffic never leaves by another route", ["kubernetes", "curl"], async (peers, t) => {
    await using started = new AsyncDisposableStack();
    const outside = started.use(await Outside.open(80));
    const [cluster, other] = await Promise.all([
      KubeCluster.start(peers.kubernetes, { serviceNetworks: "10.96.0.0/16,fd00:10:96::/112" }),
      KubeCluster.start(peers.kubernetes, { serviceNetworks: "10.97.0.0/16" }),
    ]);
    started.use(cluster);
    started.use(other);
    const web = started.use(new NamedServer("of the cluster"));
    await furnish(cluster, web.address);
    const place = (name: string, config: string, options = {}) =>
      LeakPlace.open({ name, curl: peers.curl, outside }, config, options);
    /** Names that were never requested from any cluster but may belong to one. */
    const unknown = [
      ...[address, lone, `[${six}]`, "web", "web.shop", "wbe.shop"],
      ...["100.64.1.1", "172.20.1.1", "192.168.9.9", "198.18.7.7", "34.118.225.1", "240.0.0.1"],
      ...["WEB.Shop", "web.shop.", `[::ffff:${address}]`],
    ];
    const owned = [address, lone, `[${six}]`, "web", "web.shop"];
    /** Names that belong to the cluster but are missing from its table. */
    const missing = [
      ...["wbe.front", "WBE.Front", "wbe.front.", "pod.web.front", "pod.web.shop"],
      ...["10.96.77.77", "[::ffff:10.96.77.77]", "[fd00:10:96::7777]", "10.244.200.200"],
    ];
    const kubeconfig = (options: Parameters<KubeCluster["kubeconfig"]>[0] & { name: string }) =>
      cluster.writeKubeconfig({ namespace: "shop", ...options });
    // These steps take long; the others run meanwhile.
    const [slow, impatient, deleted] = [throughSlowPlugin(), pastSlowPlugin(), withoutServices()];
    for (const waiting of [slow, impatient, deleted]) waiting.catch(() => {});

    await t.step("an API server that was never reachable", async () => {
      const server = "10.9.9.9";
      const path = await kubeconfig({
        name: "never",
        cluster: { server: `https://${server}:${freePort()}` },
      });
      await using lab = await place("never reached", config(path));
      const refusal = { code: "unreachable", says: /may belong to the cluster of "lab"[^]*refused/ } as const;
      await lab.refuses(unknown, refusal);
      await lab.explains("web.shop", refusal);
      await lab.pac(address, lone);
      for (
        const host of [
          "www.example.com",
          "example.com",
          "printer.local",
          neighbor.name,
          neighbor.address,
          server,
        ]
      ) await lab.leaves(host, ["socks"]);
      // Shows what the other steps would see in case of a leak.
      await reloaded(lab, `${config(path)}direct: ["control.shop"]\n`);
      await lab.leaves("control.shop");
      await lab.refuses([address, "wbe.shop"], refusal);
      await reloaded(lab, `${config(path)}unknown: direct\n`);
      const sixes = outside.hasSixes ? [`[${six}]`] : [];
      for (const host of [address, ...sixes, "control.front"]) await lab.leaves(host);
    });

    await t.step("an API server that accepts connections but never answers", async () => {
      await using silent = new TargetServer(async (client) => void await client.rest());
      const path = await kubeconfig({ name: "silent", cluster: { server: `https://${silent.address}` } });
      await using lab = await place("silent", `${config(path)}listen: { limits: { dial: 2s } }\n`);
      const refusal = {
        code: "timeout",
        says: /may belong to the cluster of "lab", which has not answered/,
      } as const;
      await lab.refuses([address, "web.shop"], refusal);
      await lab.pac(address, lone);
    });

    await t.step("a missing kubeconfig", async () => {
      await using lab = await place("no kubeconfig", config(`${cluster.directory}/nowhere`));
      const refusal = { code: "config", says: /may belong to the cluster of "lab"[^]*no such file/ } as const;
      await lab.refuses(unknown, refusal);
      await lab.explains("web.shop", refusal);
      await lab.pac(address, lone);
    });

    await t.step("401: without learned facts", async () => {
      await using lab = await place("401", config(await kubeconfig({ name: "401", token: "wrong" })));
      const refusal = { code: "auth", says: /may belong to the cluster of "lab"[^]* returned 401/ } as const;
      await lab.refuses(unknown, refusal);
      await lab.explains(address, refusal);
      await lab.pac(address, lone);
    });

    await t.step("401: with facts learned before", async () => {
      const good = await kubeconfig({ name: "later-401" });
      await using lab = await place("later 401", config(good));
      await lab.serves("web.shop", "of the cluster", ["socks", "connect", "absolute"]);
      await lab.stop();
      await lab.start(config(await kubeconfig({ name: "later-401", token: "wrong" })));
      const refusal = { code: "auth", says: /belongs to the cluster of "lab"[^]* returned 401/ } as const;
      await lab.refuses([...owned, ...missing], refusal);
      await lab.explains("pod.web.shop", refusal);
      await lab.pac(address, lone);
      // A configured network around the cluster's addresses.
      await reloaded(lab, `${config(good)}direct: [10.0.0.0/8]\n`);
      await lab.refuses([address, lone, "10.96.77.77"], refusal);
      await lab.leaves("10.1.2.3", ["socks"]);
      const [env, check] = await Promise.all([
        lab.home.run(["env", "--shell", "sh"]),
        lab.home.run(["config", "check"]),
      ]);
      assert.doesNotMatch(env.stdout, /10\.0\.0\.0/);
      assert.match(check.stdout + check.stderr, /10\.0\.0\.0\/8[^]*10\.96\.0\.0\/16/);
    });

    await t.step("403: without any right", async () => {
      const path = await kubeconfig({ name: "403", token: cluster.token("carol") });
      await using lab = await place("403", config(path));
      const refusal = {
        code: "not_allowed",
        says: /"carol" may not (?:list|watch) (?:services|endpointslices)[^ ]* in /,
      } as const;
      await lab.refuses(unknown, refusal);
      await lab.explains("web.shop", refusal);
      await lab.pac(address, lone);
    });

    await t.step("403: with rights in one namespace", async () => {
      await cluster.allow("alice", "front", guideRules());
      const token = cluster.token("alice");
      const path = await kubeconfig({ name: "one-namespace", token, namespace: "front" });
      await using lab = await place("one namespace", config(path));
      for (const host of ["web.front", addressOf.front]) await lab.serves(host, "of the cluster");
      // ClusterIPs of other namespaces: the limits of the Service network are unknown.
      const others = [address, "10.96.77.77", "10.97.5.5"];
      await lab.refuses(["wbe.front", "pod.web.front"], { code: "name_not_found", says: /"lab"/ });
      await lab.refuses(others, {
        code: "not_allowed",
        says: /"lab", where you have no permission to list all/,
      });
      await reloaded(lab, `${config(path)}direct: [10.0.0.0/8]\n`);
      await lab.refuses(["10.96.200.99"], { code: "name_not_found", says: /"lab"/ });
      await lab.leaves("10.1.2.3", ["socks"]);
      await lab.pac(address, lone);
    });

    await t.step("a credential plugin that fails: 30 connections open one window", async () => {
      const plugin = await pluginIn(cluster, "failing", "echo dismissed >&2; exit 1");
      const path = await kubeconfig({ name: "failing", user: plugin.user });
      await using lab = await place("failing plugin", config(path), { env: plugin.env });
      const refusal = { code: "auth", says: /credential plugin "tsh"[^]*: dismissed/ } as const;
      const many = Array.from({ length: 30 }, (_, at) => at % 2 === 0 ? "web.shop" : address);
      await lab.refuses(many, refusal, ["socks"]);
      await lab.refuses(["web.shop.svc"], { ...refusal, isRouted: true });
      await lab.refuses(unknown, refusal);
      for (const host of ["web.shop", address]) await lab.explains(host, refusal);
      const { table } = await statusOf(lab);
      assert.equal(table.state, "unknown");
      assert.match(table.reason, /dismissed/);
      await lab.pac(address, lone);
      assert.equal(await plugin.runs(), 1);
      await reloaded(lab, config(path));
      await lab.refuses(many, refusal, ["socks"]);
      assert.equal(await plugin.runs(), 2);
    });

    await t.step("a deleted Service and a deleted namespace", () => deleted);

    await t.step("a credential plugin that takes 12 s: the cluster answers the waiting clients", async () => {
      await slow;
      await impatient;
    });

    await t.step("an API server that goes away, and an expired watch after its return", async () => {
      await using line = new ApiLine(cluster.address);
      const path = await kubeconfig({ name: "line", cluster: { server: line.server } });
      await using lab = await place("line", config(path));
      await lab.serves("web.shop", "of the cluster");
      await line.cut();
      // The table contains the target, but the cluster is unreachable.
      await lab.refuses([address, "web.shop", "web"], {
        code: "unreachable",
        says: /Cannot reach/,
        isRouted: true,
      });
      await lab.refuses(missing, { code: "name_not_found", says: /"lab"/ });
      await lab.pac(address, lone);
      await cluster.apply(
        service({ name: "late", namespace: "front", selector: { app: "web" }, ports: http }),
      );
      // A restarted API server knows no earlier version.
      await cluster.stopApi();
      await cluster.startApi();
      line.mend();
      await eventuallyInCluster("the table is renewed", async () => {
        const [{ watches }] = (await statusOf(lab)).clusters;
        return watches.some(({ relists }) => relists > 0);
      });
      await eventuallyInCluster(
        "late.front exists",
        async () => (await lab.ask("late.front", "socks")).text.endsWith("of the cluster"),
      );
      await lab.refuses(missing, { code: "name_not_found", says: /"lab"/ });
      await line.cut();
      await lab.stop();
      await storedPrivately(lab);
      await lab.start(config(path));
      const refusal = { code: "unreachable", says: /belongs to the cluster of "lab"[^]*refused/ } as const;
      await lab.refuses([...owned, "late.front", ...missing], refusal);
      await lab.explains(lone, refusal);
      await lab.pac(address, lone);
      await lab.leaves("www.example.com", ["socks"]);
      await lab.stop();
      // From the stored facts, because no instance runs.
      await Promise.all(["web.shop", lone].map((host) => lab.explains(host, refusal)));
    });

    await t.step("two clusters, one of which is down", async () => {
      await using line = new ApiLine(other.address);
      const [near, far] = await Promise.all([
        kubeconfig({ name: "near" }),
        other.writeKubeconfig({ name: "far", cluster: { server: line.server } }),
      ]);
      await other.namespace("stock");
      await using lab = await place("two clusters", twoClusters(near, far));
      await lab.serves("web.shop", "of the cluster");
      await lab.refuses(["web.stock"], { code: "name_not_found", says: /"far" has no Service web/ });
      await line.cut();
      await lab.stop();
      await lab.start(twoClusters(near, far));
      for (const host of ["web.shop", address, `[${six}]`]) await lab.serves(host, "of the cluster");
      const refusal = { code: "unreachable", says: /belongs to the cluster of "far"[^]*refused/ } as const;
      await lab.refuses(["web.stock", "10.97.5.5"], refusal);
      await lab.explains("10.97.5.5", refusal);
      await lab.pac(address, lone, "10.97.5.5", "web.stock");
      // A cluster without learned facts gets none from the other one.
      await using first = await place(
        "two clusters, one unknown",
        twoClusters(near, `${cluster.directory}/nowhere`),
      );
      for (const host of ["web.shop", address, `[${six}]`]) await first.serves(host, "of the cluster");
      await first.refuses(["web.stock", "10.97.5.5"], {
        code: "config",
        says: /may belong to the cluster of "far"/,
      });
    });
    assert.deepEqual(outside.arrivals, []);

    async function withoutServices(): Promise<void> {
      const former = addressOf.gone;
      await using lab = await place("deleted", config(await kubeconfig({ name: "deleted" })));
      for (const host of ["gone.shop", "gone", former, "web.old"]) await lab.serves(host, "of the cluster");
      await cluster.remove(service({ name: "gone", namespace: "shop" }));
      await cluster.remove(pod({ name: "web", namespace: "old" }));
      await cluster.remove({ apiVersion: "v1", kind: "Namespace", metadata: { name: "old" } });
      for (const host of ["gone.shop", "web.old"]) {
        await eventuallyInCluster(
          `${host} is gone`,
          async () => (await lab.ask(host, "connect")).text.includes(`"lab" has no Service`),
        );
      }
      const refusal = {
        code: "name_not_found",
        says: /"lab" (?:has no|no longer has a) Service|no Service (?:and|of "lab" and) no pod/,
      } as const;
      await lab.refuses(["gone.shop", "gone", former, "web.old", "other.old", lone], refusal);
      await lab.refuses(missing, { ...refusal, says: /"lab"/ });
      await lab.explains("gone.shop", refusal);
      await lab.pac(address, lone, former);
    }

    async function throughSlowPlugin(): Promise<void> {
      const plugin = await slowPlugin("slow");
      await using lab = await place("slow plugin", config(plugin.kubeconfig), { env: plugin.env });
      await lab.pac(address, lone);
      await Promise.all([
        lab.serves(address, "of the cluster", ["socks"]),
        lab.serves("web.shop", "of the cluster", ["connect"]),
        lab.serves("web", "of the cluster", ["absolute"]),
        lab.refuses(["wbe.front"], { code: "name_not_found", says: /"lab" has no Service wbe/ }),
      ]);
      assert.equal(await plugin.runs(), 1);
    }

    /** While the plugin is still running, postern refuses clients that would not wait for it. */
    async function pastSlowPlugin(): Promise<void> {
      const plugin = await slowPlugin("impatient");
      const text = `${config(plugin.kubeconfig)}listen: { limits: { dial: 2s } }\n`;
      await using lab = await place("impatient", text, { env: plugin.env });
      await lab.refuses([address, "web.shop"], {
        code: "timeout",
        says: /may belong to the cluster of "lab", and postern waits for the sign-in with "tsh"/,
      });
      const { table } = await statusOf(lab);
      assert.match(table.reason, /waits for the sign-in with "tsh"/);
      await eventuallyInCluster(
        "web.shop answers",
        async () => (await lab.ask("web.shop", "socks")).text.endsWith("of the cluster"),
      );
      lab.nothingLeft(["web.shop"]);
      assert.equal(await plugin.runs(), 1);
    }

    async function slowPlugin(
      name: string,
    ): Promise<Awaited<ReturnType<typeof pluginIn>> & { readonly kubeconfig: string }> {
      const token = { apiVersion: v1, kind: "ExecCredential", status: { token: cluster.token("admin") } };
      const plugin = await pluginIn(cluster, name, `sleep 12; echo '${JSON.stringify(token)}'`);
      return { ...plugin, kubeconfig: await kubeconfig({ name, user: plugin.user }) };
    }
  });
});

const v1 = "client.authentication.k8s.io/v1";
const http = [{ name: "http", port: 80 }];

/** A program that signs in like a script, under a name that postern may start from source too. */
async function pluginIn({ directory }: KubeCluster, name: string, script: string): Promise<{
  readonly user: Readonly<Record<string, unknown>>;
  readonly env: Readonly<Record<string, string>>;
  /** The number of starts. */
  runs(): Promise<number>;
}> {
  const place = `${directory}/${name}-plugin`;
  await Deno.mkdir(place);
  await Deno.writeTextFile(`${place}/runs`, "");
  const text = `#!/bin/sh\necho run >>${place}/runs\n${script}\n`;
  await Deno.writeTextFile(`${place}/tsh`, text, { mode: 0o755 });
  return {
    user: { exec: { apiVersion: v1, command: "tsh", interactiveMode: "Never" } },
    env: { PATH: `${place}:${Deno.env.get("PATH")}` },
    runs: async () => (await Deno.readTextFile(`${place}/runs`)).split("\n").length - 1,
  };
}

/** The transport into the cluster in the output of `postern status`. */
async function statusOf({ home }: LeakPlace): Promise<{
  readonly clusters: readonly [{ readonly watches: readonly { readonly relists: number }[] }];
  readonly table: { readonly state: string; readonly reason: string };
}> {
  const { stdout, stderr } = await home.run(["status", "-o", "json"]);
  const [{ transports }] = JSON.parse(stdout || assert.fail(stderr));
  return transports.find(({ type }: { readonly type: string }) => type === "kubernetes");
}

/** Checks that the learned facts are private. */
async function storedPrivately({ home }: LeakPlace): Promise<void> {
  const directory = `${home.places.cache}/learned`;
  const files = await Array.fromAsync(Deno.readDir(directory));
  assert.equal(files.length, 1);
  for (const path of [directory, ...files.map(({ name }) => `${directory}/${name}`)]) {
    assert.equal(((await Deno.stat(path)).mode ?? 0) & 0o077, 0, path);
  }
}

/** The addresses of Services. */
const addressOf = {
  shop: "10.96.100.10",
  front: "10.96.200.20",
  old: "10.96.30.30",
  gone: "10.96.40.40",
} as const;
const { shop: address } = addressOf;
const six = "fd00:10:96::10";
/** The address of a pod without a Service. */
const lone = "10.244.99.99";

/** Services, their pods, and a pod without a Service. */
async function furnish(cluster: KubeCluster, target: string): Promise<void> {
  // The first name is also a public top-level domain.
  const namespaces = ["shop", "front", "old"] as const;
  for (const name of namespaces) await cluster.namespace(name);
  const spec = { podCIDR: "10.244.0.0/16", podCIDRs: ["10.244.0.0/16"] };
  await cluster.json("PATCH", "/api/v1/nodes/node", { spec }, "application/merge-patch+json");
  await cluster.apply(
    ...namespaces.flatMap((namespace) => [
      pod({ name: "web", namespace, labels: { app: "web" }, ports: { http: 80 }, targets: { 80: target } }),
      service({
        name: "web",
        namespace,
        selector: { app: "web" },
        ports: http,
        isDualStack: namespace === "shop",
        clusterIps: [addressOf[namespace], ...namespace === "shop" ? [six] : []],
      }),
    ]),
    service({
      name: "gone",
      namespace: "shop",
      selector: { app: "web" },
      ports: http,
      clusterIps: [addressOf.gone],
    }),
    pod({ name: "lone", namespace: "shop", addresses: [lone] }),
  );
  for (const namespace of namespaces) {
    await eventuallyInCluster(
      `${namespace}/web is ready`,
      async () => await cluster.readyEndpoints(namespace, "web") >= 1,
    );
  }
}

function config(kubeconfig: string): string {
  return `
transports: { lab: { kubernetes: { kubeconfig: ${kubeconfig} } } }
routes: [{ to: [.svc, .cluster.local, <services>, <clusterips>], via: lab }]
`;
}

function twoClusters(near: string, far: string): string {
  return `
transports: { near: { kubernetes: { kubeconfig: ${near} } }, far: { kubernetes: { kubeconfig: ${far} } } }
routes:
  - { to: [<services>, <clusterips>], via: near }
  - { to: [<services>, <clusterips>], via: far }
`;
}

async function reloaded({ home }: LeakPlace, text: string): Promise<void> {
  await home.configure(text);
  const { code, stderr } = await home.run(["reload"]);
  assert.equal(code, 0, stderr);
}
