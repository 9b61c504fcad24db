import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import * as spdy from "../../../../src/wire/spdy/spdy_frames.ts";
import type { Conn } from "../../../../src/core/mod.ts";
import type { PosternError } from "../../../../src/words/mod.ts";
import { neverReachedPod } from "../../../../src/kube/forward/forward_failure.ts";
import type { ForwardLimits } from "../../../../src/kube/forward/forward_limits.ts";
import { ForwardPool } from "../../../../src/kube/forward/forward_pool.ts";
import { webSocketClosePayload, webSocketOpcodes, webSocketServerFrame } from "../../../../src/wire/mod.ts";
import { FakeClock, settle } from "../../../support/fake_clock.ts";
import { ForwardStandIn, type ForwardStandInOptions, PodEnds } from "../../../support/forward_stand_in.ts";
import { readAll } from "../../../support/memory_conn.ts";
import { patternBytes } from "../../../support/pattern_bytes.ts";

const { signal } = new AbortController();
const bytes = (text: string) => new TextEncoder().encode(text);
const text = (data: Uint8Array) => new TextDecoder().decode(data);
const web = { namespace: "shop", pod: "web-0", port: 80 };

interface Lab extends AsyncDisposable {
  readonly clock: FakeClock;
  readonly pod: PodEnds;
  readonly api: ForwardStandIn;
  readonly pool: ForwardPool;
  readonly notes: string[];
  readonly broken: string[];
  open(port?: number): Promise<Conn>;
}

function lab(
  { limits = {}, halfClose = "pass", ...options }: Partial<ForwardStandInOptions> & {
    limits?: Partial<ForwardLimits>;
    halfClose?: "pass" | "hold";
  } = {},
): Lab {
  const clock = new FakeClock();
  const pod = new PodEnds();
  const api = new ForwardStandIn({ connect: pod.connect, ...options });
  const notes: string[] = [];
  const broken: string[] = [];
  const pool = new ForwardPool({
    clock,
    api,
    halfClose,
    limits,
    onNote: (text) => notes.push(text),
    onBroken: (name, error) => broken.push(`${name}: ${(error as Error).message}`),
  });
  return {
    clock,
    pod,
    api,
    pool,
    notes,
    broken,
    open: async (port = 80) => {
      const conn = await pool.open({ ...web, port }, { signal });
      await clock.advance(1);
      await nextTurn();
      return conn;
    },
    async [Symbol.asyncDispose]() {
      await pool[Symbol.asyncDispose]();
      for (const connection of api.connections) {
        connection.close();
        await connection.done;
      }
      assert.equal(clock.waiting, 0, "timers are left");
    },
  };
}

/** Everything here is in memory except a checksum, so a condition holds after a few turns. */
async function until(isSo: () => boolean): Promise<void> {
  for (let turn = 0; turn < 10_000; turn++) {
    await settle();
    await nextTurn();
    if (isSo()) return;
  }
  assert.fail(`never: ${isSo}`);
}

async function ask(conn: Conn, question: string): Promise<string> {
  await conn.write(bytes(question));
  const into = new Uint8Array(100);
  const count = await conn.read(into);
  return text(into.subarray(0, count ?? 0));
}

/** A pod that echoes its input in capitals. */
function shouting(pod: PodEnds): () => Conn {
  return () => {
    const inside = pod.connect();
    const outside = pod.last;
    (async () => {
      const into = new Uint8Array(1000);
      while (true) {
        const count = await outside.read(into);
        if (count === null) return await outside.closeWrite();
        await outside.write(bytes(text(into.subarray(0, count)).toUpperCase()));
      }
    })().catch(() => {});
    return inside;
  };
}

Deno.test("ForwardPool carries many forwards to a pod over one connection", async () => {
  const pods = new PodEnds();
  await using all = lab({ connect: shouting(pods) });
  const conns = await Promise.all(Array.from({ length: 30 }, () => all.open()));
  const answers = await Promise.all(conns.map((conn, index) => ask(conn, `question ${index}`)));
  assert.deepEqual(answers, conns.map((_, index) => `QUESTION ${index}`));
  assert.deepEqual(all.api.requests, [
    "GET /api/v1/namespaces/shop/pods/web-0/portforward SPDY/3.1+portforward.k8s.io",
  ]);
  assert.deepEqual(all.pool.status(), { form: "websocket", sessions: 1, streams: 30, broken: 0 });
  for (const conn of conns) await conn[Symbol.asyncDispose]();
  assert.equal(all.pool.status().streams, 0);
});

Deno.test("ForwardPool limits the number of sessions for any number of dials", async () => {
  const pods = new PodEnds();
  await using all = lab({ connect: shouting(pods) });
  const conns = await Promise.all(Array.from({ length: 200 }, () => all.open()));
  const answers = await Promise.all(conns.map((conn) => ask(conn, "x")));
  assert.deepEqual(new Set(answers), new Set(["X"]));
  assert.ok(all.api.connections.length <= 2, `${all.api.connections.length} connections`);
  for (const conn of conns) conn.abort();
});

Deno.test("ForwardPool sends the opening and the first bytes in one message, without waiting", async () => {
  await using all = lab();
  await (await all.open()).closeWrite();
  const before = all.api.last.messages;
  const conn = await all.pool.open(web, { signal });
  await conn.write(bytes("first"));
  await until(() => all.api.last.messages > before);
  await settle();
  assert.equal(all.api.last.messages, before + 1);
  assert.equal(all.api.last.pods.size, 2);
  conn.abort();
});

Deno.test("ForwardPool keeps all bytes in order when the server sends them one by one", async () => {
  await using all = lab({ piece: 1 });
  const conn = await all.open();
  const sent = patternBytes(5000, 7);
  await until(() => all.pod.ends.length > 0);
  all.pod.last.write(sent).then(() => all.pod.last.closeWrite());
  assert.deepEqual(await readAll(conn), sent);
  await conn.closeWrite();
});

const refusals = [
  {
    name: "no process listens",
    said: "error forwarding port 80 to pod abc, uid : failed to connect to localhost:80: connection refused",
    code: "refused",
    again: "refused",
  },
  { name: "the pod is gone", said: "container not running (abc)", code: "unreachable", again: "vanished" },
  { name: "the pod does not answer", said: "dial tcp4: i/o timeout", code: "timeout", again: undefined },
  { name: "the kubelet gives another reason", said: "something else", code: "unreachable", again: undefined },
];
for (const { name, said, code, again } of refusals) {
  Deno.test(`ForwardPool fails a connection with ${code} when ${name}`, async () => {
    await using all = lab({ connect: () => said });
    const conn = await all.open();
    // The reason may already have arrived.
    await conn.write(bytes("hello")).catch(() => {});
    await assert.rejects(conn.read(new Uint8Array(1)), (error: PosternError) => {
      assert.equal(error.code, code);
      assert.match(error.message, /^Cannot reach port 80 of the pod "shop\/web-0": /);
      assert.equal(neverReachedPod(error), again);
      return true;
    });
    await assert.rejects(conn.write(bytes("more")), { code });
    assert.equal(all.pool.status().streams, 0);
    // The session still works.
    assert.equal(all.pool.status().sessions, 1);
  });
}

Deno.test("ForwardPool treats an end without data as an end", async () => {
  await using all = lab();
  const conn = await all.open();
  await until(() => all.pod.ends.length > 0);
  await all.pod.last.closeWrite();
  assert.equal(await conn.read(new Uint8Array(1)), null);
  await conn.closeWrite();
});

Deno.test("ForwardPool uses an error stream's reason although that stream stays open", async () => {
  await using all = lab();
  const conn = await all.open();
  await until(() => all.api.last.pods.size === 1);
  const [data = 0] = all.api.last.pods.keys();
  const said = bytes("dial tcp4 127.0.0.1:80: connect: connection refused");
  const failed = assert.rejects(conn.read(new Uint8Array(1)), { code: "refused" });
  await all.api.last.say(
    new Uint8Array([...spdy.dataHead(data, 0, 1), ...spdy.dataHead(data - 2, said.length), ...said]),
  );
  await nextTurn();
  await all.clock.advance(3000);
  await failed;
});

Deno.test("ForwardPool fails only the forward that was reset", async () => {
  await using all = lab();
  const first = await all.open();
  const second = await all.open();
  await until(() => all.api.last.pods.size === 2);
  const [number = 0] = all.api.last.pods.keys();
  const failed = assert.rejects(first.read(new Uint8Array(1)), { code: "unreachable", detail: "reset" });
  all.api.last.reset(number);
  await all.clock.advance(3000);
  await failed;
  await all.pod.last.write(bytes("still here"));
  assert.equal(await second.read(new Uint8Array(20)), 10);
  second.abort();
});

Deno.test("ForwardPool holds back a half-close, if configured, until the pod has ended", async () => {
  for (const halfClose of ["pass", "hold"] as const) {
    await using all = lab({ halfClose });
    const conn = await all.open();
    await until(() => all.pod.ends.length > 0);
    const heard = readAll(all.pod.last);
    await conn.closeWrite();
    await all.clock.advance(1);
    if (halfClose === "pass") await heard;
    await all.pod.last.write(bytes("all of it"));
    await all.pod.last.closeWrite();
    assert.equal(text(await readAll(conn)), "all of it");
    await all.clock.advance(1);
    await heard;
    await until(() => all.pool.status().streams === 0);
  }
});

Deno.test("ForwardPool replaces a dead session", async () => {
  await using all = lab({ connect: () => all.pod.connect() });
  const conn = await all.open();
  await until(() => all.pod.ends.length === 1);
  all.api.last.freeze();
  const failed = assert.rejects(conn.read(new Uint8Array(1)), { code: "timeout", detail: "reset" });
  await conn.write(bytes("are you there"));
  await all.clock.advance(14_000);
  assert.equal(all.pool.status().broken, 0);
  await all.clock.advance(2_000);
  await failed;
  assert.deepEqual(all.broken, [
    'shop/web-0: Cannot keep the connection to the pod "shop/web-0": no data for 15 s',
  ]);
  assert.equal(all.pool.status().broken, 1);
  const next = await all.open();
  await until(() => all.pod.ends.length === 2);
  assert.equal(all.api.connections.length, 2);
  next.abort();
});

Deno.test("ForwardPool adds no forward to a session that may be dead", async () => {
  await using all = lab();
  const first = await all.open();
  await until(() => all.pod.ends.length === 1);
  all.api.last.freeze();
  all.pool.check();
  const second = await all.open();
  await until(() => all.pod.ends.length === 2);
  assert.equal(all.api.connections.length, 2);
  // The session was only slow.
  all.api.connections[0]?.thaw();
  await until(() => (all.api.connections[0]?.pings ?? 0) > 0);
  await settle();
  await all.clock.advance(60_000);
  assert.deepEqual(all.broken, []);
  first.abort();
  second.abort();
});

Deno.test("ForwardPool keeps a silent session that answers pings", async () => {
  await using all = lab();
  const conn = await all.open();
  await conn.write(bytes("no answer to this"));
  await all.clock.advance(60 * 60_000);
  assert.equal(all.pool.status().broken, 0);
  assert.equal(all.pool.status().sessions, 1);
  assert.ok(all.api.last.pings > 50, `${all.api.last.pings} pings`);
  conn.abort();
});

Deno.test("ForwardPool closes an idle session, and stops using an old one", async () => {
  await using all = lab({ limits: { idle: 5000, age: 60_000 } });
  const first = await all.open();
  await all.clock.advance(61_000);
  const second = await all.open();
  await until(() => all.api.connections.length === 2);
  first.abort();
  await until(() => all.api.open === 1);
  second.abort();
  await all.clock.advance(4000);
  assert.equal(all.api.open, 1);
  await all.clock.advance(2000);
  await until(() => all.api.open === 0);
  assert.equal(all.pool.status().sessions, 0);
  assert.deepEqual(all.broken, []);
});

/** A forward whose pod has ended its direction, in a retired session that ends with it. */
async function lastInOldSession(): Promise<Lab & { readonly heard: () => Promise<Uint8Array> }> {
  const ends = new PodEnds();
  const heard: Uint8Array<ArrayBuffer>[] = [];
  const write = (said: Uint8Array) => Promise.resolve(void heard.push(new Uint8Array(said)));
  const all = lab({
    limits: { age: 60_000 },
    connect: () => Object.assign(ends.connect(), { write }),
  });
  const conn = await all.open();
  await until(() => ends.ends.length === 1);
  await ends.last.closeWrite();
  assert.equal(await conn.read(new Uint8Array(1)), null);
  await all.clock.advance(61_000);
  (await all.open()).abort();
  await until(() => all.api.connections.length === 2);
  // More data than the connection takes at once is still pending when the session ends.
  all.api.connections[0]?.freeze();
  await conn.write(patternBytes(400_000, 3));
  await conn.closeWrite();
  await settle();
  return { ...all, heard: async () => new Uint8Array(await new Blob(heard).arrayBuffer()) };
}

Deno.test("ForwardPool ends a retired session after its last data is written", async () => {
  await using all = await lastInOldSession();
  assert.equal(all.pool.status().sessions, 1);
  all.api.connections[0]?.thaw();
  await until(() => all.api.open === 1);
  const heard = await all.heard();
  assert.equal(heard.length, 400_000);
  assert.deepEqual(heard, patternBytes(400_000, 3));
});

Deno.test("ForwardPool stops waiting for a server that does not read the last data", async () => {
  await using all = await lastInOldSession();
  await all.clock.advance(10_000);
  all.api.connections[0]?.thaw();
  await until(() => all.api.open === 1);
  assert.ok((await all.heard()).length < 400_000);
});

Deno.test("ForwardPool limits the number of idle sessions for all pods", async () => {
  await using all = lab({ limits: { idleSessions: 3 } });
  for (const pod of ["a", "b", "c", "d", "e"]) {
    const conn = await all.pool.open({ ...web, pod }, { signal });
    await all.clock.advance(1);
    conn.abort();
    await all.clock.advance(1);
  }
  await until(() => all.api.open === 3);
  // The latest idle sessions stay, so this one is reused.
  (await all.pool.open({ ...web, pod: "c" }, { signal })).abort();
  assert.equal(all.api.connections.length, 5);
  (await all.pool.open({ ...web, pod: "a" }, { signal })).abort();
  assert.equal(all.api.connections.length, 6);
});

Deno.test("ForwardPool opens a new session when the server goes away, and lets the old one end", async () => {
  await using all = lab({ connect: shouting(new PodEnds()) });
  const first = await all.open();
  assert.equal(await ask(first, "a"), "A");
  all.api.last.goAway();
  await until(() => all.pool.status().sessions === 1);
  await settle();
  const second = await all.open();
  assert.equal(all.api.connections.length, 2);
  assert.equal(await ask(first, "b"), "B");
  assert.equal(await ask(second, "c"), "C");
  first.abort();
  await until(() => all.api.open === 1);
  second.abort();
});

Deno.test("ForwardPool fails all forwards of a cut connection with one error", async () => {
  await using all = lab();
  const conns = await Promise.all([all.open(), all.open(), all.open()]);
  const failures = conns.map((conn) => conn.read(new Uint8Array(1)).catch((error) => error));
  all.api.last.close();
  const [error, ...others] = await Promise.all(failures);
  assert.equal(error.code, "unreachable");
  assert.equal(error.detail, "reset");
  for (const other of others) assert.equal(other, error);
  assert.equal(neverReachedPod(error), undefined);
});

const garbage = [
  { name: "text", bytes: webSocketServerFrame(webSocketOpcodes.text, bytes("hello")) },
  { name: "bytes that are not a WebSocket", bytes: bytes("HTTP/1.1 200 OK\r\n\r\n") },
  {
    name: "bytes that are not SPDY",
    bytes: webSocketServerFrame(webSocketOpcodes.binary, new Uint8Array(8)),
  },
  {
    name: "a close",
    bytes: webSocketServerFrame(webSocketOpcodes.close, webSocketClosePayload(1011, "gone")),
  },
];
for (const { name, bytes } of garbage) {
  Deno.test(`ForwardPool closes a session that sends ${name}`, async () => {
    await using all = lab();
    const conn = await all.open();
    const failed = assert.rejects(conn.read(new Uint8Array(1)), (error: PosternError) => {
      assert.match(
        error.message,
        name === "a close" ? /1011 gone/ : /Cannot keep the connection to the pod "shop\/web-0"/,
      );
      return true;
    });
    all.api.last.sayRaw(bytes);
    await failed;
    await until(() => all.pool.status().sessions === 0);
  });
}

Deno.test("ForwardPool delivers data that arrives right before a server closes", async () => {
  await using all = lab();
  const conn = await all.open();
  const said = bytes("last words");
  const [number = 0] = all.api.last.pods.keys();
  all.api.last.sayRaw(
    new Uint8Array([
      ...webSocketServerFrame(webSocketOpcodes.binary, spdy.dataHead(number, said.length)),
      ...webSocketServerFrame(webSocketOpcodes.binary, said),
      ...webSocketServerFrame(webSocketOpcodes.close, webSocketClosePayload(1001)),
    ]),
  );
  const into = new Uint8Array(20);
  assert.equal(await conn.read(into), said.length);
  await assert.rejects(conn.read(into), /closed the WebSocket: 1001/);
});

Deno.test("ForwardPool answers the pings of a WebSocket", async () => {
  await using all = lab();
  const conn = await all.open();
  all.api.last.sayRaw(webSocketServerFrame(webSocketOpcodes.ping, bytes("ping")));
  await conn.write(bytes("x"));
  await until(() => all.pod.ends.length > 0);
  assert.equal(await all.pod.last.read(new Uint8Array(5)), 1);
  conn.abort();
});

/** Writes without a reader until the write blocks; returns the number of bytes. */
async function flood(pod: Conn): Promise<number> {
  const piece = patternBytes(256 * 1024, 1);
  let written = 0;
  (async () => {
    while (true) {
      await pod.write(piece);
      written += piece.length;
    }
  })().catch(() => {});
  let before = -1;
  while (before !== written) {
    before = written;
    for (let turn = 0; turn < 50; turn++) await settle();
    await nextTurn();
  }
  return written;
}

Deno.test("ForwardPool limits the memory for a slow reader, and does not let it block others", async () => {
  await using all = lab();
  const stalled = await all.open();
  const other = await all.open();
  await until(() => all.pod.ends.length === 2);
  const [first, second] = all.pod.ends;
  const taken = await flood(first ?? assert.fail());
  assert.ok(
    taken > 8 * 1024 * 1024 && taken < 24 * 1024 * 1024,
    `${taken} bytes were taken without a reader`,
  );
  // New forwards avoid its session.
  const third = await all.open();
  assert.equal(all.api.connections.length, 2);
  await until(() => all.pod.ends.length === 3);
  await all.pod.last.write(bytes("me too"));
  assert.equal(await third.read(new Uint8Array(20)), 6);
  // While no other forward waits, the reader may be slow.
  await all.clock.advance(60 * 60_000);
  assert.equal(await stalled.read(new Uint8Array(1000)), 1000);
  await flood(first ?? assert.fail());
  // A reader that takes nothing loses its connection when others wait.
  await other.write(bytes("question"));
  await second?.write(bytes("answer"));
  await all.clock.advance(6000);
  await assert.rejects(stalled.read(new Uint8Array(1)), { code: "timeout", detail: "reset" });
  assert.equal(await other.read(new Uint8Array(20)), 6);
  for (const conn of [other, third]) conn.abort();
});

Deno.test("ForwardPool adds no forwards to a session with a bulk transfer", async () => {
  await using all = lab();
  const much = await all.open();
  const reading = readAll(much);
  await until(() => all.pod.ends.length === 1);
  const [first] = all.pod.ends;
  await first?.write(patternBytes(6 * 1024 * 1024, 1));
  // The first forward that notices it shares the session, and opens another one for the next.
  const shared = await all.open();
  await until(() => all.pool.status().sessions === 2);
  const apart = await all.open();
  await until(() => all.api.connections[1]?.pods.size === 1);
  await first?.closeWrite();
  assert.equal((await reading).length, 6 * 1024 * 1024);
  for (const conn of [much, shared, apart]) conn.abort();
});

Deno.test("ForwardPool waits for a slow reader that is alone", async () => {
  await using all = lab();
  const conn = await all.open();
  await until(() => all.pod.ends.length === 1);
  const sent = patternBytes(6 * 1024 * 1024, 2);
  const writing = all.pod.last.write(sent).then(() => all.pod.last.closeWrite());
  await all.clock.advance(10 * 60_000);
  assert.deepEqual(await readAll(conn), sent);
  await writing;
  assert.deepEqual(all.broken, []);
  await conn.closeWrite();
});

Deno.test("ForwardPool aborts for one client and continues for the others", async () => {
  const going = Promise.withResolvers<void>();
  await using all = lab();
  const upgrade = all.api.upgrade.bind(all.api);
  all.api.upgrade = async (request, options) => {
    await going.promise;
    return await upgrade(request, options);
  };
  const controller = new AbortController();
  const gone = assert.rejects(all.pool.open(web, { signal: controller.signal }), /enough/);
  const other = all.pool.open(web, { signal });
  await settle();
  controller.abort(new Error("enough"));
  await gone;
  going.resolve();
  const conn = await other;
  assert.equal(all.api.connections.length, 1);
  conn.abort();
});

Deno.test("ForwardPool times out for a silent server", async () => {
  await using all = lab();
  all.api.upgrade = (_request, { signal }) =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
  const failed = assert.rejects(all.pool.open(web, { signal }), {
    code: "timeout",
    message: 'Cannot forward to the pod "shop/web-0" of lab: no session within 30 s',
  });
  await all.clock.advance(30_000);
  await failed;
});

Deno.test("ForwardPool closes its sessions when it is closed", async () => {
  await using all = lab();
  const conn = await all.open();
  const failed = assert.rejects(conn.read(new Uint8Array(1)));
  await all.pool[Symbol.asyncDispose]();
  await failed;
  await until(() => all.api.open === 0);
  await assert.rejects(all.pool.open(web, { signal }), { code: "cancelled" });
});

const useless: readonly { name: string; leave: (api: ForwardStandIn) => void }[] = [
  { name: "hangs up at once", leave: (api) => api.last.close() },
  { name: "accepts no forward", leave: (api) => api.last.goAway() },
];
for (const { name, leave } of useless) {
  Deno.test(`ForwardPool does not loop with a server that opens a session and ${name}`, async () => {
    await using all = lab();
    const asking = new AbortController();
    const usual = all.api.upgrade.bind(all.api);
    all.api.upgrade = async (request, options) => {
      const answer = await usual(request, options);
      leave(all.api);
      await settle();
      if (all.api.connections.length === 10) asking.abort(new Error("it was asked without end"));
      return answer;
    };
    await assert.rejects(all.pool.open(web, asking), { code: "unreachable", detail: "reset" });
    assert.equal(all.api.connections.length, 1);
  });
}

Deno.test("ForwardPool opens a new session for a new pod with a former name", async () => {
  const pod = new PodEnds();
  const gone = 'failed to find sandbox "a1" in store: not found';
  let isGone = false;
  await using all = lab({ connect: () => isGone ? gone : pod.connect() });
  const first = await all.open();
  await until(() => pod.ends.length === 1);
  // This session stays bound to the former pod, although the API server keeps it open.
  isGone = true;
  const late = await all.open();
  await assert.rejects(late.read(new Uint8Array(1)), { code: "unreachable", detail: "vanished" });
  isGone = false;
  const next = await all.open();
  assert.equal(all.api.connections.length, 2);
  await until(() => pod.ends.length === 2);
  // The forwards of the former session end by themselves.
  assert.deepEqual([all.pool.status().sessions, all.pool.status().streams], [2, 2]);
  first.abort();
  next.abort();
});
