import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Conn } from "../../../../src/core/mod.ts";
import { type ErrorCode, PosternError } from "../../../../src/words/mod.ts";
import { settle } from "../../../support/fake_clock.ts";
import { type FakeClusterParts, serviceRecord, sliceRecord } from "../../../support/fake_cluster_view.ts";
import { PodEnds } from "../../../support/forward_stand_in.ts";
import { memoryPair } from "../../../support/memory_conn.ts";
import { standInLink } from "../../../support/stand_in_link.ts";

const { signal } = new AbortController();
const bytes = (text: string) => new TextEncoder().encode(text);
const refusal = "error forwarding port 8080 to pod x: connect: connection refused";

function shop(...pods: readonly string[]): FakeClusterParts {
  return {
    services: [
      serviceRecord({ namespace: "shop", name: "web", clusterIps: ["10.96.0.7"] }),
      serviceRecord({ namespace: "shop", name: "idle" }),
      serviceRecord({
        namespace: "shop",
        name: "out",
        type: "ExternalName",
        externalName: "db.example.net",
        ports: [],
      }),
    ],
    slices: { "shop/web": [sliceRecord(pods, 8080)], "shop/idle": [sliceRecord(["!cold"], 8080)] },
  };
}

/**
 * Sends a text and reads the first response. Like a relay it reads all the time, so that it sees failures.
 */
async function answerOf(conn: Conn, pod: PodEnds): Promise<string> {
  const into = new Uint8Array(64);
  const [count] = await Promise.all([
    conn.read(into),
    conn.write(bytes("question")),
    untilConnected(pod).then((end) => end.write(bytes("answer"))),
  ]);
  return new TextDecoder().decode(into.subarray(0, count ?? 0));
}

/** A WebSocket upgrade computes a digest, which takes real time while the fake clock stands still. */
async function untilConnected(pod: PodEnds): Promise<Conn> {
  while (pod.ends.length === 0) await nextTurn();
  return pod.last;
}

const names = ["web", "WEB.shop", "web.shop.svc", "web.shop.svc.cluster.local.", "10.96.0.7"];
for (const host of names) {
  Deno.test(`ClusterLink connects ${host} to a pod from the objects in memory`, async () => {
    const pod = new PodEnds();
    await using lab = standInLink({ parts: shop("web-1"), connect: pod.connect });
    await lab.link.connect({ signal });
    const steps: string[] = [];
    await using conn = await lab.link.dial({ host, port: 80 }, {
      signal,
      onStep: (text) => void steps.push(text),
    });
    assert.equal(await answerOf(conn, pod), "answer");
    assert.deepEqual(steps, [
      "the Service shop/web of lab: web-1:8080",
      "forwarding to port 8080 of the pod shop/web-1",
    ]);
    assert.deepEqual(lab.asked, ["web-1"]);
  });
}

Deno.test("ClusterLink tries another pod after one that refuses, and logs that once", async () => {
  const pod = new PodEnds();
  const connect = (name: string) => name === "deaf" ? refusal : pod.connect();
  await using lab = standInLink({ parts: shop("deaf", "hears"), connect });
  await using conn = await lab.link.dial({ host: "web", port: 80 }, { signal });
  assert.equal(await answerOf(conn, pod), "answer");
  const retried = lab.log.lines.filter(({ event }) => event === "kubernetes.retried");
  assert.deepEqual(retried.map(({ failed, next }) => [failed, next]), [
    ["shop/deaf", "shop/hears"],
  ]);
});

Deno.test("ClusterLink tries at most two other pods", async () => {
  const tried: string[] = [];
  const connect = (name: string) => {
    tried.push(name);
    return refusal;
  };
  await using lab = standInLink({ parts: shop("a", "b", "c", "d"), connect });
  await using conn = await lab.link.dial({ host: "web", port: 80 }, { signal });
  await assert.rejects(
    Promise.all([conn.read(new Uint8Array(1)), conn.write(bytes("question"))]),
    (error) => error instanceof PosternError && error.code === "refused",
  );
  assert.deepEqual(tried, ["a", "b", "c"]);
});

Deno.test("ClusterLink waits for the replacement of a vanished pod, up to a limit", async () => {
  const pod = new PodEnds();
  const isGone = (name: string) => name === "old";
  await using lab = standInLink({ parts: shop("old"), connect: pod.connect, isGone });
  const dialing = lab.link.dial({ host: "web", port: 80 }, { signal });
  await settle();
  // The watch delivers the new pod while the dial waits.
  lab.view.change(shop("new"));
  await using conn = await dialing;
  assert.equal(await answerOf(conn, pod), "answer");
  assert.deepEqual(lab.asked, ["old", "new"]);
  await using left = standInLink({ parts: shop("old"), connect: pod.connect, isGone });
  const failing = assert.rejects(
    left.link.dial({ host: "web", port: 80 }, { signal }),
    (error) => error instanceof PosternError && error.detail === "vanished",
  );
  await settle();
  await left.clock.advance(3_000);
  await failing;
});

Deno.test("ClusterLink uses the new pod of a StatefulSet with the name of the vanished one", async () => {
  const pod = new PodEnds();
  let isAway = true;
  await using lab = standInLink({ parts: shop("db-0"), connect: pod.connect, isGone: () => isAway });
  const waits = Promise.withResolvers<void>();
  const onChange = lab.view.onChange.bind(lab.view);
  lab.view.onChange = (changed) => {
    waits.resolve();
    return onChange(changed);
  };
  const dialing = lab.link.dial({ host: "web", port: 80 }, { signal });
  dialing.catch(() => {});
  await waits.promise;
  lab.view.change(shop());
  await settle();
  isAway = false;
  lab.view.change(shop("db-0"));
  await settle();
  await lab.clock.advance(3_000);
  await using conn = await dialing;
  assert.equal(await answerOf(conn, pod), "answer");
  assert.deepEqual(lab.asked, ["db-0", "db-0"]);
});

Deno.test("ClusterLink retries once if an older session reports a pod as gone", async () => {
  const pod = new PodEnds();
  const gone = 'failed to find sandbox "a1" in store: not found';
  const asked: string[] = [];
  let isReplaced = false;
  const connect = () => isReplaced && asked.length === 1 ? gone : pod.connect();
  await using lab = standInLink({ parts: shop("db-0"), connect, asked });
  await using first = await lab.link.dial({ host: "web", port: 80 }, { signal });
  assert.equal(await answerOf(first, pod), "answer");
  // As in a StatefulSet, the new pod has the same name; the session stays bound to the former pod.
  isReplaced = true;
  await using second = await lab.link.dial({ host: "web", port: 80 }, { signal });
  assert.deepEqual(asked, ["db-0"]);
  const into = new Uint8Array(64);
  const reading = second.read(into);
  reading.catch(() => {});
  await second.write(bytes("question"));
  // A count of turns would fail on a busy machine.
  const end = performance.now() + 10_000;
  while (pod.ends.length < 2 && performance.now() < end) await nextTurn();
  await pod.last.write(bytes("answer"));
  assert.equal(pod.ends.length, 2);
  assert.equal(await reading, 6);
  assert.deepEqual(asked, ["db-0", "db-0"]);
});

Deno.test("ClusterLink follows a rollout in which every pod vanishes, up to a limit", async () => {
  const pod = new PodEnds();
  const old = Array.from({ length: 8 }, (_, at) => `old-${at}`);
  const isGone = (name: string) => name.startsWith("old");
  await using lab = standInLink({ parts: shop(...old, "new"), connect: pod.connect, isGone });
  await using conn = await lab.link.dial({ host: "web", port: 80 }, { signal });
  assert.equal(await answerOf(conn, pod), "answer");
  assert.deepEqual(lab.asked, [...old, "new"]);
  await using worse = standInLink({ parts: shop(...old, "old-8", "new"), connect: pod.connect, isGone });
  await assert.rejects(
    worse.link.dial({ host: "web", port: 80 }, { signal }),
    (error) => error instanceof PosternError && error.detail === "vanished",
  );
  assert.deepEqual(worse.asked, [...old, "old-8"]);
});

const refused: readonly { host: string; port: number; code: ErrorCode; message: RegExp }[] = [
  { host: "none", port: 80, code: "name_not_found", message: /Service "shop\/none" in lab/ },
  { host: "a.b.c.example", port: 80, code: "name_not_found", message: /not a cluster name/ },
  { host: "web", port: 81, code: "refused", message: /port 81 of .*web/ },
  { host: "idle", port: 80, code: "unreachable", message: /no ready endpoint/ },
  { host: "out", port: 80, code: "not_allowed", message: /the ExternalName "db\.example\.net"/ },
];
for (const { host, port, code, message } of refused) {
  Deno.test(`ClusterLink refuses ${host}:${port} with ${code} and sends no request`, async () => {
    await using lab = standInLink({ parts: shop("web-1"), connect: () => memoryPair()[0] });
    await assert.rejects(lab.link.dial({ host, port }, { signal }), (error) => {
      assert.ok(error instanceof PosternError);
      assert.equal(error.code, code);
      assert.match(error.message, message);
      return true;
    });
    assert.deepEqual(lab.asked, []);
  });
}

Deno.test("ClusterLink dials an ExternalName if allowed", async () => {
  const [near] = memoryPair();
  const dialled: unknown[] = [];
  await using lab = standInLink({
    parts: shop("web-1"),
    connect: () => memoryPair()[0],
    outside: (target) => {
      dialled.push(target);
      return Promise.resolve(near);
    },
  });
  assert.equal(await lab.link.dial({ host: "out", port: 5432 }, { signal }), near);
  assert.deepEqual(dialled, [{ host: "db.example.net", port: 5432 }]);
});

Deno.test("ClusterLink locates targets in memory, and reports unreachable ones", async () => {
  await using lab = standInLink({ parts: shop("web-1"), connect: () => memoryPair()[0] });
  const at = (host: string, port = 80) => lab.link.locate({ host, port });
  assert.equal(at("web"), undefined);
  await lab.link.connect({ signal });
  assert.equal(at("web"), "the Service shop/web of lab: web-1:8080");
  assert.match(at("idle") ?? "", /no ready endpoint/);
  assert.deepEqual([at("none"), at("out"), at("10-1-2-3.shop.pod.cluster.local")], [
    undefined,
    undefined,
    undefined,
  ]);
  assert.deepEqual(lab.asked, []);
});
