import assert from "node:assert/strict";
import { EgressLab } from "../support/egress_lab.ts";
import { makeCertificates } from "../support/kube_processes.ts";
import type { KubeObject } from "../support/kube_objects.ts";
import { isLongRun } from "../support/long_runs.ts";
import { eventually } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import type { Instance } from "../support/postern_process.ts";

const label = "config.openshift.io/inject-trusted-cabundle";
const annotation = "config.openshift.io/inject-proxy";
const proxy = (name: string) => `http://${name}.example.net:3128`;
/** A timeout in ms, long enough for a busy machine: the tests here do not measure time. */
const patience = 240_000;

/** A lab whose API server logs every change and its author. */
async function audited(
  kubernetes: string,
): Promise<{ lab: EgressLab; changes: () => Promise<Change[]> } & AsyncDisposable> {
  const directory = await Deno.makeTempDir({ prefix: "audit-" });
  const [policy, log] = [`${directory}/policy.yaml`, `${directory}/audit.log`];
  await Deno.writeTextFile(
    policy,
    `${
      JSON.stringify({
        apiVersion: "audit.k8s.io/v1",
        kind: "Policy",
        omitStages: ["RequestReceived"],
        rules: [
          { level: "Metadata", users: ["alice", "bob"], verbs: ["patch", "create", "update"] },
          { level: "None" },
        ],
      })
    }\n`,
  );
  const apiOptions = [
    `--audit-policy-file=${policy}`,
    `--audit-log-path=${log}`,
    "--audit-log-mode=blocking",
  ];
  const lab = await EgressLab.start(kubernetes, { apiOptions });
  await lab.allow("alice");
  await lab.allow("bob");
  return {
    lab,
    changes: async () =>
      (await Deno.readTextFile(log)).split("\n").filter((line) => line !== "").map((line) => JSON.parse(line))
        .filter(
          ({ objectRef }) => objectRef?.resource !== "events" && objectRef?.resource !== "leases",
        ),
    async [Symbol.asyncDispose]() {
      await lab[Symbol.asyncDispose]();
      await Deno.remove(directory, { recursive: true });
    },
  };
}

interface Change {
  readonly user: { readonly username: string };
  readonly objectRef: { readonly resource: string; readonly namespace?: string; readonly name?: string };
  readonly responseStatus?: { readonly code: number };
  readonly requestReceivedTimestamp: string;
  readonly requestURI: string;
}

/** The number of successful changes per object. */
function successes(changes: readonly Change[], resource: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { objectRef, responseStatus, requestURI } of changes) {
    if (objectRef.resource !== resource || responseStatus?.code !== 200 || requestURI.includes("dryRun")) {
      continue;
    }
    const key = `${objectRef.namespace}/${objectRef.name}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

function deployment(at: number): KubeObject {
  const labels = { app: `d${at}` };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { namespace: "default", name: `d${at}`, annotations: { [annotation]: "main" } },
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "none" }] } },
    },
  };
}

/** Creates objects that request the bundle and the proxy. */
async function crowd(lab: EgressLab, maps: number, deployments: number): Promise<void> {
  const all = [
    ...Array.from(
      { length: maps },
      (_, at) => lab.map("default", `m${at}`, {}, { labels: { [label]: "true" } }),
    ),
    ...Array.from({ length: deployments }, (_, at) => deployment(at)),
  ];
  for (let at = 0; at < all.length; at += 50) await lab.cluster.apply(...all.slice(at, at + 50));
}

/** Resolves when no write is pending for this number of objects. */
async function untilDone(
  lab: EgressLab,
  controller: Instance,
  maps: number,
  deployments: number,
): Promise<void> {
  await eventually("all targets are written", async () => {
    const metrics = await lab.metrics(controller);
    const of = (name: string) => [metrics.get(`${name}{of="bundle"}`), metrics.get(`${name}{of="proxy"}`)];
    const [targets, pending] = [of("postern_egress_targets"), of("postern_egress_pending")];
    return String(targets) === `${maps},${deployments}` && String(pending) === "0,0";
  }, patience);
}

/**
 * The number of up-to-date objects: those with the certificate in the bundle, and those with the proxy's
 * name.
 */
async function served(
  lab: EgressLab,
  pem: string,
  name: string,
): Promise<{ maps: number; deployments: number }> {
  const list = async (path: string) =>
    (await lab.cluster.json("GET", path) as { items: readonly unknown[] }).items.map((item) =>
      JSON.stringify(item)
    );
  const wanted = JSON.stringify(pem.trim()).slice(1, -1);
  const maps = await list(
    `/api/v1/namespaces/default/configmaps?labelSelector=${encodeURIComponent(`${label}=true`)}`,
  );
  const deployments = await list("/apis/apps/v1/namespaces/default/deployments");
  return {
    maps: maps.filter((text) => text.includes(wanted)).length,
    deployments: deployments.filter((text) => text.includes(`"value":"${proxy(name)}"`)).length,
  };
}

/** Waits until a change has arrived: nothing is pending either before the controller has seen it. */
async function untilServed(
  lab: EgressLab,
  pem: string,
  name: string,
  wanted: { readonly maps: number; readonly deployments: number },
): Promise<void> {
  await eventually(`all have what "${name}" brought`, async () => {
    const { maps, deployments } = await served(lab, pem, name);
    return maps === wanted.maps && deployments === wanted.deployments;
  }, patience);
}

async function certificates(kubernetes: string, lab: EgressLab, name: string): Promise<string> {
  const own = `${lab.home.directory}/${name}`;
  await Deno.mkdir(own);
  await makeCertificates(kubernetes, own, [{ name: "leaf", commonName: name }]);
  return await Deno.readTextFile(`${own}/ca.crt`);
}

/** Changes the bundle and the proxy in two edits. */
async function change(lab: EgressLab, pem: string, name: string): Promise<void> {
  await lab.cluster.apply(lab.map("openshift-config", "mine", { "ca-bundle.crt": pem }));
  await lab.edit({ httpProxy: proxy(name), trustedCA: { name: "mine" } });
}

peerTest(
  "egress controller: the second replica completes the writes after the first is killed",
  ["kubernetes"],
  async ({ kubernetes }) => {
    await using made = await audited(kubernetes);
    const { lab, changes } = made;
    const [maps, deployments] = isLongRun() ? [2000, 800] : [300, 120];
    const [first, second] = [
      await certificates(kubernetes, lab, "first"),
      await certificates(kubernetes, lab, "second"),
    ];
    await crowd(lab, maps, deployments);
    await change(lab, first, "first");
    await using alice = await lab.controller([], { as: "alice" });
    await untilServed(lab, first, "first", { maps, deployments });
    await untilDone(lab, alice, maps, deployments);
    await using bob = await lab.controller([], { as: "bob" });
    const before = (await changes()).length;
    assert.equal((await lab.metrics(bob)).get("postern_egress_leader"), 0);

    await change(lab, second, "second");
    await eventually("some targets are written", async () => (await changes()).length > before + 40);
    alice.kill("SIGKILL");
    await alice.ended;
    await untilServed(lab, second, "second", { maps, deployments });
    await untilDone(lab, bob, maps, deployments);

    const since = (await changes()).slice(before);
    const who = since.map(({ user }) => user.username);
    assert.equal(who[0], "alice");
    const firstOfBob = who.indexOf("bob");
    assert.ok(firstOfBob > 0, "the second replica has finished");
    assert.equal(who.slice(firstOfBob).includes("alice"), false, "the replicas never write at the same time");
    // The second replica does not repeat the first one's writes.
    const twice = [...successes(since, "configmaps"), ...successes(since, "deployments")]
      .filter(([key, count]) => key.startsWith("default/") && count > 1);
    // One edit changes the bundle, the other the proxy: each ConfigMap is written for the first, each
    // Deployment for the second.
    assert.deepEqual(twice, []);
  },
);

peerTest(
  "egress controller: writes survive an API server outage and deleted objects",
  ["kubernetes"],
  async ({ kubernetes }, t) => {
    await using made = await audited(kubernetes);
    const { lab, changes } = made;
    const [maps, deployments] = [200, 80];
    const [first, second, third] = [
      await certificates(kubernetes, lab, "first"),
      await certificates(kubernetes, lab, "second"),
      await certificates(kubernetes, lab, "third"),
    ];
    await crowd(lab, maps, deployments);
    await change(lab, first, "first");
    await using alice = await lab.controller([], { as: "alice" });
    await untilDone(lab, alice, maps, deployments);

    await t.step("no write is lost or repeated", async () => {
      const before = (await changes()).length;
      await change(lab, second, "second");
      await eventually("some targets are written", async () => (await changes()).length > before + 20);
      await lab.cluster.stopApi();
      await new Promise((resolve) => setTimeout(resolve, isLongRun() ? 60_000 : 2_000));
      await lab.cluster.startApi();
      await untilServed(lab, second, "second", { maps, deployments });
      const since = (await changes()).slice(before);
      const twice = [...successes(since, "configmaps"), ...successes(since, "deployments")]
        .filter(([key, count]) => key.startsWith("default/") && count > 1);
      assert.deepEqual(twice, []);
    });

    await t.step("objects deleted in the meantime are no failure", async () => {
      const before = (await changes()).length;
      await change(lab, third, "third");
      await eventually("the first targets are written", async () => (await changes()).length > before + 5);
      await Promise.all(
        Array.from(
          { length: 40 },
          (_, at) => lab.cluster.remove(lab.map("default", `m${maps - 1 - at}`, {})),
        ),
      );
      await Promise.all(
        Array.from({ length: 10 }, (_, at) => lab.cluster.remove(deployment(deployments - 1 - at))),
      );
      await untilServed(lab, third, "third", { maps: maps - 40, deployments: deployments - 10 });
      await untilDone(lab, alice, maps - 40, deployments - 10);
    });
  },
);

peerTest(
  "egress controller: a namespace without permission does not delay others",
  ["kubernetes"],
  async ({ kubernetes }) => {
    await using lab = await EgressLab.start(kubernetes);
    const { cluster } = lab;
    await lab.allow("alice");
    await cluster.namespace("closed");
    // A role cannot remove a permission, so bind it in all other namespaces.
    await cluster.allow(
      "alice",
      undefined,
      (await lab.rules()).map((rule) =>
        rule.resources.includes("configmaps")
          ? { ...rule, verbs: rule.verbs.filter((verb) => verb !== "patch") }
          : rule
      ),
    );
    for (const namespace of ["default", "openshift-config-managed", "postern-egress"]) {
      await cluster.allow("alice", namespace, [{
        apiGroups: [""],
        resources: ["configmaps"],
        verbs: ["create", "patch"],
      }]);
    }
    await cluster.allow("alice", "postern-egress", [
      { apiGroups: [""], resources: ["configmaps"], verbs: ["create", "patch"] },
      { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update"] },
    ]);
    await cluster.apply(
      lab.map("openshift-config", "mine", { "ca-bundle.crt": await certificates(kubernetes, lab, "ca") }),
      ...["a", "b", "c"].map((name) => lab.map("closed", name, {}, { labels: { [label]: "true" } })),
      ...["a", "b", "c"].map((name) => lab.map("default", name, {}, { labels: { [label]: "true" } })),
    );
    await lab.edit({ trustedCA: { name: "mine" } });
    await using alice = await lab.controller([], { as: "alice" });
    await alice.says(/egress\.note .*ConfigMap\/closed\/a.*may not patch configmaps in the namespace/);
    await eventually(
      "the other namespaces have the bundle",
      async () =>
        (await Promise.all(["a", "b", "c"].map((name) => lab.bundle("default", name)))).every((text) =>
          text !== undefined
        ),
    );
    assert.equal(await lab.bundle("closed", "a"), undefined);
    assert.equal((await lab.report())?.accepted, "True");
  },
);

peerTest(
  "egress controller: many objects are written once per change, with little memory",
  ["kubernetes"],
  async ({ kubernetes }) => {
    await using lab = await EgressLab.start(kubernetes);
    const [maps, deployments] = isLongRun() ? [5000, 2000] : [200, 80];
    const [first, second] = [
      await certificates(kubernetes, lab, "first"),
      await certificates(kubernetes, lab, "second"),
    ];
    await crowd(lab, maps, deployments);
    await change(lab, first, "first");
    const writes = async (controller: Instance) => {
      const metrics = await lab.metrics(controller);
      return ["ConfigMap", "Deployment"].map((kind) =>
        metrics.get(`postern_egress_writes_total{kind="${kind}",outcome="written"}`) ?? 0
      );
    };
    let peak = 0;
    const watched = async (controller: Instance) => {
      const resident = (await lab.metrics(controller)).get("process_resident_memory_bytes") ?? 0;
      peak = Math.max(peak, Math.round(resident / 1024 / 1024));
    };
    await using controller = await lab.controller();
    await untilDone(lab, controller, maps, deployments);
    const before = await writes(controller);

    const edited = performance.now();
    await change(lab, second, "second");
    await eventually(
      "the proxy is accepted",
      async () => (await lab.status())[0] === proxy("second"),
      patience,
    );
    const accepted = performance.now() - edited;
    await eventually("all targets have the proxy", async () => {
      await watched(controller);
      const now = await writes(controller);
      return (now[0] ?? 0) - (before[0] ?? 0) >= maps && (now[1] ?? 0) - (before[1] ?? 0) >= deployments;
    }, patience);
    const took = (performance.now() - edited) / 1000;
    assert.deepEqual(await served(lab, second, "second"), { maps, deployments });
    const now = await writes(controller);
    assert.equal((now[1] ?? 0) - (before[1] ?? 0), deployments);
    // Other writes: the merged bundle and one or two reports.
    assert.ok((now[0] ?? 0) - (before[0] ?? 0) <= maps + 4);
    console.log(
      `\n${maps} maps, ${deployments} deployments: accepted after ${Math.round(accepted)} ms, all after ` +
        `${took.toFixed(1)} s, memory at most ${peak} MB`,
    );
    controller.kill("SIGTERM");
    await controller.ended;

    await using again = await lab.controller();
    await untilDone(lab, again, maps, deployments);
    assert.deepEqual(await writes(again), [0, 0], "a second reconciliation writes nothing");
    if (isLongRun()) {
      assert.ok(took < 60, `took ${took} s`);
      assert.ok(peak < 200, `took ${peak} MB`);
    }
  },
);
