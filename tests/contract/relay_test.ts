import assert from "node:assert/strict";
import { type Conn, relay, type Tally } from "../../src/core/mod.ts";
import type { RelayEnd } from "../../src/core/streams/relay.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { memoryPair, readAll } from "../support/memory_conn.ts";
import { MemorySsh } from "../support/ssh_server.ts";
import { patternBytes, randomNumbers } from "../support/pattern_bytes.ts";

/** A running relay: the far ends of its two connections, and its result. */
interface Relayed {
  readonly client: Conn;
  readonly target: Conn;
  readonly tally: Tally;
  readonly clock: FakeClock;
  readonly stop: AbortController;
  readonly end: Promise<RelayEnd>;
}

interface Ends {
  readonly outer: Conn;
  readonly inner: Conn;
}

function relayed(client: Ends, target: Ends): Relayed {
  const tally = { up: 0, down: 0 };
  const clock = new FakeClock();
  const stop = new AbortController();
  const end = relay(client.inner, target.inner, {
    signal: stop.signal,
    clock,
    tally,
    halfCloseLinger: 30_000,
  });
  return { client: client.outer, target: target.outer, tally, clock, stop, end };
}

/** The promises of `relay` for all connections. */
function relayContract(name: string, makeEnds: () => Promise<Ends>): void {
  const check = (promise: string, body: (relayed: Relayed) => Promise<void>) =>
    Deno.test(`relay() over ${name} ${promise}`, async () => {
      const made = relayed(await makeEnds(), await makeEnds());
      try {
        await body(made);
      } finally {
        await made.client[Symbol.asyncDispose]();
        await made.target[Symbol.asyncDispose]();
        await made.end;
      }
      assert.equal(made.clock.waiting, 0, "a timer is still pending");
    });

  for (const seed of [1, 2, 3]) {
    check(`carries chunks of any size both ways (seed ${seed})`, async ({ client, target, tally, end }) => {
      const random = randomNumbers(seed);
      const up = patternBytes(300_000 + Math.floor(random() * 1_000_000), seed);
      const down = patternBytes(300_000 + Math.floor(random() * 1_000_000), seed + 1);
      const [atTarget, atClient] = await Promise.all([
        readAll(target),
        readAll(client),
        writeInPieces(client, up, random),
        writeInPieces(target, down, random),
      ]);
      assert.deepEqual(atTarget, up);
      assert.deepEqual(atClient, down);
      assert.deepEqual(await end, { outcome: "done" });
      assert.deepEqual(tally, { up: up.length, down: down.length });
    });
  }

  check("forwards the client's half-close and returns the answer", async ({ client, target, end }) => {
    await client.write(patternBytes(10));
    await client.closeWrite();
    assert.deepEqual(await readAll(target), patternBytes(10));
    await target.write(patternBytes(20));
    await target.closeWrite();
    assert.deepEqual(await readAll(client), patternBytes(20));
    assert.equal((await end).outcome, "done");
  });

  check("forwards the target's half-close and the client's later bytes", async ({ client, target, end }) => {
    await target.closeWrite();
    assert.equal((await readAll(client)).length, 0);
    await client.write(patternBytes(30));
    await client.closeWrite();
    assert.deepEqual(await readAll(target), patternBytes(30));
    assert.equal((await end).outcome, "done");
  });

  check("ends both connections on cancel and returns the reason", async ({ client, target, stop, end }) => {
    const reason = new Error("drained");
    stop.abort(reason);
    assert.deepEqual(await end, { outcome: "cancelled", error: reason });
    await assertGone(client);
    await assertGone(target);
  });

  check("counts the bytes before an abrupt end", async ({ client, target, tally, stop, end }) => {
    await client.write(patternBytes(100));
    const into = new Uint8Array(100);
    let seen = 0;
    while (seen < 100) seen += await target.read(into) ?? assert.fail("ended");
    stop.abort(new Error("enough"));
    await end;
    assert.deepEqual(tally, { up: 100, down: 0 });
  });
}

async function writeInPieces(conn: Conn, data: Uint8Array<ArrayBuffer>, random: () => number): Promise<void> {
  for (let at = 0; at < data.length;) {
    // From one byte to far more than any buffer, with equal weight for each order of magnitude.
    const size = Math.ceil(2 ** (random() * 18));
    await conn.write(data.subarray(at, at + size));
    at += size;
  }
  await conn.closeWrite();
}

/** Checks that the peer is gone: a read returns the end or an error without waiting. */
async function assertGone(conn: Conn): Promise<void> {
  assert.equal(await conn.read(new Uint8Array(1)).catch(() => null), null);
}

function memoryEnds(options: { isSocket?: boolean; capacity?: number } = {}): Ends {
  const [outer, inner] = memoryPair(options);
  return { outer, inner };
}

relayContract("chunks", () => Promise.resolve(memoryEnds()));
relayContract("chunks through narrow pipes", () => Promise.resolve(memoryEnds({ capacity: 7000 })));
relayContract("buffers", () => Promise.resolve(memoryEnds({ isSocket: true })));
relayContract("TCP sockets", async () => {
  const network = createNetwork();
  await using listening = network.listen({ host: "127.0.0.1", port: 0 });
  const [outer, inner] = await Promise.all([
    network.connect(listening.endpoint, { signal: new AbortController().signal }),
    listening.accept(),
  ]);
  return { outer, inner: inner ?? assert.fail("closed") };
});

for (const isSocket of [false, true]) {
  const form = isSocket ? "buffers" : "chunks";
  Deno.test(`relay() over ${form} ends the client when the target resets`, async () => {
    const { client, target, end } = relayed(memoryEnds({ isSocket }), memoryEnds({ isSocket }));
    target.abort(new Error("reset"));
    assert.equal((await end).outcome, "target_gone");
    await assert.rejects(client.read(new Uint8Array(1)));
  });

  Deno.test(`relay() over ${form} ends the target when the client resets`, async () => {
    const { client, target, end } = relayed(memoryEnds({ isSocket }), memoryEnds({ isSocket }));
    client.abort(new Error("reset"));
    assert.equal((await end).outcome, "client_gone");
    await assert.rejects(target.read(new Uint8Array(1)));
  });

  Deno.test(`relay() over ${form} reports the target when its writes fail`, async () => {
    const { client, target, end } = relayed(
      memoryEnds({ isSocket }),
      memoryEnds({ isSocket, capacity: 10 }),
    );
    await client.write(patternBytes(1000));
    target.abort(new Error("reset"));
    assert.equal((await end).outcome, "target_gone");
  });
}

/** A connection whose writes fail, although reads may succeed. */
function takingNothing({ outer, inner }: Ends): Ends {
  const refuse = () => Promise.reject(new Error("broken pipe"));
  return { outer, inner: Object.assign(inner, { write: refuse, closeWrite: refuse }) };
}

for (const isSocket of [false, true]) {
  const form = isSocket ? "buffers" : "chunks";
  for (const said of ["more", "the end"]) {
    Deno.test(`relay() over ${form} delivers all bytes of a target that refuses ${said}`, async () => {
      const { client, target, clock, tally, end } = relayed(
        memoryEnds({ isSocket, capacity: 1000 }),
        takingNothing(memoryEnds({ isSocket })),
      );
      const answer = patternBytes(60_000);
      await target.write(answer);
      await target.closeWrite();
      if (said === "more") await client.write(patternBytes(10));
      else await client.closeWrite();
      // Read only after the other direction has failed.
      await clock.advance(1);
      assert.deepEqual(await readAll(client), answer);
      const { outcome, error } = await end;
      assert.equal(outcome, "target_gone");
      assert.match(String(error), /broken pipe/);
      assert.deepEqual(tally, { up: 0, down: answer.length });
      assert.equal(clock.waiting, 0);
    });
  }

  Deno.test(`relay() over ${form} drops a target that refuses writes and keeps sending`, async () => {
    const { client, target, clock, end } = relayed(
      memoryEnds({ isSocket }),
      takingNothing(memoryEnds({ isSocket })),
    );
    await client.write(patternBytes(10));
    await clock.advance(29_999);
    await target.write(patternBytes(10));
    await clock.advance(1);
    assert.equal((await end).outcome, "target_gone");
    await assertGone(client);
    await assertGone(target);
    assert.equal(clock.waiting, 0);
  });

  Deno.test(`relay() over ${form} ends immediately when a client that sent its end refuses writes`, async () => {
    const { client, target, clock, end } = relayed(
      takingNothing(memoryEnds({ isSocket })),
      memoryEnds({ isSocket }),
    );
    await client.closeWrite();
    await clock.advance(1);
    await target.write(patternBytes(10));
    assert.equal((await end).outcome, "client_gone");
    assert.equal(clock.waiting, 0);
  });
}

/** A connection whose protocol has no half-close: its `closeWrite` must not be called. */
function withoutHalfClose({ outer, inner }: Ends): Ends {
  return { outer, inner: Object.assign(inner, { carriesHalfClose: false }) };
}

Deno.test("relay() waits for the answer of a target without half-close", async () => {
  const { client, target, clock, end } = relayed(memoryEnds(), withoutHalfClose(memoryEnds()));
  await client.closeWrite();
  await clock.advance(29_000);
  await target.write(patternBytes(10));
  await target.closeWrite();
  assert.deepEqual(await readAll(client), patternBytes(10));
  assert.equal((await end).outcome, "done");
  assert.equal(clock.waiting, 0);
});

Deno.test("relay() drops a target without half-close after the linger", async () => {
  const { client, target, clock, end } = relayed(memoryEnds(), withoutHalfClose(memoryEnds()));
  await client.closeWrite();
  await clock.advance(29_999);
  await target.write(patternBytes(10));
  await clock.advance(1);
  const { outcome, error } = await end;
  assert.equal(outcome, "lingered");
  assert.match(String(error), /kept sending/);
  await assertGone(client);
  await assertGone(target);
});

Deno.test("relay() ends a client without half-close when the target has ended", async () => {
  const { client, target, end } = relayed(withoutHalfClose(memoryEnds()), memoryEnds());
  await target.write(patternBytes(10));
  await target.closeWrite();
  assert.deepEqual(await readAll(client), patternBytes(10));
  assert.deepEqual(await end, { outcome: "done" });
  await assertGone(target);
});

Deno.test("relay() copies no bytes when it is canceled before the start", async () => {
  const client = memoryEnds();
  const target = memoryEnds();
  await client.outer.write(patternBytes(10));
  const end = await relay(client.inner, target.inner, {
    signal: AbortSignal.abort(new Error("too late")),
    clock: new FakeClock(),
    tally: { up: 0, down: 0 },
    halfCloseLinger: 1,
  });
  assert.equal(end.outcome, "cancelled");
  await assertGone(target.outer);
});

Deno.test("relay() applies backpressure to the client while the target does not read", async () => {
  const { client, target, end, stop } = relayed(
    memoryEnds({ capacity: 1000 }),
    memoryEnds({ capacity: 1000 }),
  );
  const writing = client.write(patternBytes(100_000)).then(() => "written", () => "cut off");
  const clock = new FakeClock();
  await clock.advance(1);
  assert.equal(await Promise.race([writing, Promise.resolve("waiting")]), "waiting");
  stop.abort(new Error("enough"));
  assert.equal(await writing, "cut off");
  await end;
  await assertGone(target);
});

for (const side of ["client", "target"] as const) {
  Deno.test(`relay() with an SshChannel ends without a signal when the ${side} closes`, async () => {
    await using ssh = await MemorySsh.open();
    const target = await ssh.session.connect({ host: "target.example", port: 1 }, {
      signal: new AbortController().signal,
    });
    const [outer, client] = memoryPair();
    const relayed = relay(client, target, {
      clock: new FakeClock(),
      tally: { up: 0, down: 0 },
      halfCloseLinger: 30_000,
    });
    const reason = new Error("enough");
    ({ client, target })[side].abort(reason);
    assert.deepEqual(await relayed, { outcome: `${side}_gone`, error: reason });
    await outer[Symbol.asyncDispose]();
  });
}
