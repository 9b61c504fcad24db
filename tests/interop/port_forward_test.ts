import assert from "node:assert/strict";
import type { Conn } from "../../src/core/mod.ts";
import { KubeCluster } from "../support/kube_cluster.ts";
import { KubeForwards } from "../support/kube_forwards.ts";
import { pod } from "../support/kube_objects.ts";
import { readAll } from "../support/memory_conn.ts";
import { patternBytes } from "../support/pattern_bytes.ts";
import { peerTest } from "../support/peers.ts";
import { TargetServer } from "../support/target_server.ts";

const { signal } = new AbortController();
const bytes = (text: string) => new TextEncoder().encode(text);
const text = (data: Uint8Array) => new TextDecoder().decode(data);
const web = { namespace: "dev", pod: "web-0" };
const size = 8 * 1024 * 1024;

/** The servers behind the ports of the pod. */
const ports = { echo: 80, late: 81, deaf: 82, flood: 83, closed: 99 } as const;

peerTest("Port-forwards through a real API server", ["kubernetes"], async ({ kubernetes }, t) => {
  await using echo = new TargetServer(async (client) => {
    for (let some = await client.some(); some; some = await client.some()) await client.send(some);
    await client.end();
  });
  // Returns its input once the client has half-closed.
  await using late = new TargetServer(async (client) => {
    await client.send(await client.rest());
  });
  const going = Promise.withResolvers<void>();
  await using deaf = new TargetServer(() => going.promise);
  await using flood = new TargetServer(async (client) => {
    const piece = new Uint8Array(256 * 1024);
    while (true) await client.send(piece);
  });
  await using cluster = await KubeCluster.start(kubernetes, { linger: "none" });
  await cluster.namespace("dev");
  const targets = {
    [ports.echo]: echo.address,
    [ports.late]: late.address,
    [ports.deaf]: deaf.address,
    [ports.flood]: flood.address,
  };
  await cluster.apply(pod({ name: web.pod, namespace: "dev", targets }));
  const admin = await cluster.writeKubeconfig({ namespace: "dev" });
  await isForwarding(admin);

  for (const form of ["websocket", "spdy", "v4"] as const) {
    await t.step(`${form} carries 8 MiB both ways unchanged`, async () => {
      await using forwards = await KubeForwards.open({ kubeconfig: admin, form });
      const conn = await forwards.pool.open({ ...web, port: ports.echo }, { signal });
      const sent = patternBytes(size, 5);
      const [heard] = await Promise.all([take(conn, size), conn.write(sent)]);
      assert.deepEqual(heard, sent);
      assert.equal(forwards.pool.status().form, form);
      await conn[Symbol.asyncDispose]();
    });

    await t.step(`${form} reports a port without a listener, and a missing pod`, async () => {
      await using forwards = await KubeForwards.open({ kubeconfig: admin, form });
      const refused = await forwards.pool.open({ ...web, port: ports.closed }, { signal });
      await assert.rejects(refused.read(new Uint8Array(1)), {
        code: "refused",
        message: /port 99 of the pod "dev\/web-0": .*connection refused/,
      });
      const gone = forwards.pool.open({ ...web, pod: "web-9", port: 80 }, { signal });
      await assert.rejects(gone, {
        code: "unreachable",
        detail: "vanished",
        message: /pods "web-9" not found/,
      });
    });
  }

  for (const form of ["websocket", "spdy"] as const) {
    await t.step(`${form} passes a half-close on, and the response arrives completely`, async () => {
      await using forwards = await KubeForwards.open({ kubeconfig: admin, form });
      const conn = await forwards.pool.open({ ...web, port: ports.late }, { signal });
      const sent = patternBytes(300_000, 6);
      await conn.write(sent);
      await conn.closeWrite();
      assert.deepEqual(await readAll(conn), sent);
    });
  }

  await t.step("200 dials at once share two connections, and none is lost", async () => {
    await using forwards = await KubeForwards.open({ kubeconfig: admin });
    const before = (await cluster.forwards()).sessions;
    const answers = await Promise.all(Array.from({ length: 200 }, async (_, index) => {
      const conn = await forwards.pool.open({ ...web, port: ports.echo }, { signal });
      await conn.write(bytes(`question ${index}`));
      const answer = text(await take(conn, `question ${index}`.length));
      await conn[Symbol.asyncDispose]();
      return answer;
    }));
    assert.deepEqual(answers, answers.map((_, index) => `question ${index}`));
    const sessions = (await cluster.forwards()).sessions - before;
    assert.ok(sessions <= 2, `${sessions} sessions`);
  });

  await t.step("a pod that does not read blocks only its own lane", async () => {
    await using forwards = await KubeForwards.open({ kubeconfig: admin });
    const open = (port: number) => forwards.pool.open({ ...web, port }, { signal });
    const stalled = await open(ports.deaf);
    // Consecutive streams of a session use the five lanes in turn, so each of these has its own.
    const others = await Promise.all([1, 2, 3, 4].map(() => open(ports.echo)));
    await Promise.all(others.map((conn) => ask(conn, "before")));
    assert.equal(forwards.pool.status().sessions, 1);
    let written = 0;
    const writing = (async () => {
      while (true) {
        await stalled.write(new Uint8Array(64 * 1024));
        written += 64 * 1024;
      }
    })().catch(() => {});
    await stands(() => written);
    await Promise.all(others.map((conn) => ask(conn, "meanwhile")));
    assert.ok(written < 64 * 1024 * 1024, `${written} bytes were taken without a reader`);
    await ask(await open(ports.echo), "and a new one");
    stalled.abort(new Error("enough"));
    await writing;
  });

  await t.step("a client that does not read delays others only briefly", async () => {
    await using forwards = await KubeForwards.open({ kubeconfig: admin });
    const stalled = await forwards.pool.open({ ...web, port: ports.flood }, { signal });
    const other = await forwards.pool.open({ ...web, port: ports.echo }, { signal });
    assert.equal(await stalled.read(new Uint8Array(1)), 1);
    await ask(other, "meanwhile");
    await ask(await forwards.pool.open({ ...web, port: ports.echo }, { signal }), "afterwards");
    stalled.abort(new Error("enough"));
  });

  await t.step("a hanging server costs a session, and the next dial works", async () => {
    const limits = { quiet: 1000, patience: 4000 };
    await using forwards = await KubeForwards.open({ kubeconfig: admin, limits });
    const conn = await forwards.pool.open({ ...web, port: ports.echo }, { signal });
    await ask(conn, "before");
    cluster.signalApi("SIGSTOP");
    try {
      await conn.write(bytes("into the void"));
      await assert.rejects(take(conn, 100), { code: "timeout", detail: "reset" });
    } finally {
      cluster.signalApi("SIGCONT");
    }
    assert.equal(forwards.broken.length, 1);
    await using calm = await KubeForwards.open({ kubeconfig: admin });
    await ask(await calm.pool.open({ ...web, port: ports.echo }, { signal }), "after");
  });

  await t.step("missing rights are named", async () => {
    const kubeconfig = await cluster.writeKubeconfig({ name: "bob", token: cluster.token("bob") });
    await using forwards = await KubeForwards.open({ kubeconfig });
    await assert.rejects(forwards.pool.open({ ...web, port: 80 }, { signal }), {
      code: "not_allowed",
      message: /User "bob" cannot (get|create) resource "pods\/portforward"/,
      hint: /get and create on pods\/portforward/,
    });
  });

  await t.step("with only the right for POST, postern uses POST", async () => {
    const rules = [{ apiGroups: [""], resources: ["pods/portforward"], verbs: ["create"] }];
    await cluster.allow("alice", "dev", rules);
    const kubeconfig = await cluster.writeKubeconfig({ name: "alice", token: cluster.token("alice") });
    await isForwarding(kubeconfig);
    await using forwards = await KubeForwards.open({ kubeconfig });
    await ask(await forwards.pool.open({ ...web, port: ports.echo }, { signal }), "hello");
  });

  await t.step("an API server that stops ends its streams, and the next dial works", async () => {
    await using forwards = await KubeForwards.open({ kubeconfig: admin });
    const conn = await forwards.pool.open({ ...web, port: ports.echo }, { signal });
    await ask(conn, "before");
    const failed = assert.rejects(take(conn, 1), { code: "unreachable", detail: "reset" });
    await cluster.stopApi();
    await failed;
    await cluster.startApi();
    await isForwarding(admin);
    await ask(await forwards.pool.open({ ...web, port: ports.echo }, { signal }), "after");
  });
  going.resolve();
});

async function ask(conn: Conn, question: string): Promise<void> {
  await conn.write(bytes(question));
  assert.equal(text(await take(conn, question.length)), question);
}

async function take(conn: Conn, count: number): Promise<Uint8Array<ArrayBuffer>> {
  const whole = new Uint8Array(count);
  for (let at = 0; at < count;) {
    const more = await conn.read(whole.subarray(at));
    assert.ok(more !== null, `ended after ${at} of ${count} bytes`);
    at += more;
  }
  return whole;
}

/** Resolves once a number has been constant for a while. */
async function stands(value: () => number): Promise<void> {
  let before = -1;
  while (before !== value() || before === 0) {
    before = value();
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** The pod and new rights take effect a little later than the responses suggest. */
async function isForwarding(kubeconfig: string): Promise<void> {
  await using forwards = await KubeForwards.open({ kubeconfig });
  for (const until = Date.now() + 60_000; Date.now() < until;) {
    try {
      return await ask(await forwards.pool.open({ ...web, port: ports.echo }, { signal }), "?");
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  assert.fail("nothing is forwarded");
}
