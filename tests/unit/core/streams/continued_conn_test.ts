import assert from "node:assert/strict";
import { type Conn, Messages } from "../../../../src/core/mod.ts";
import { ContinuedConn } from "../../../../src/core/streams/continued_conn.ts";
import { type MemoryConn, memoryPair, readAll } from "../../../support/memory_conn.ts";
import { patternBytes } from "../../../support/pattern_bytes.ts";

/** A connection of which `Messages` has read 200 bytes. */
async function continued({ isSocket = false } = {}): Promise<{ conn: Conn; far: MemoryConn }> {
  const [near, far] = memoryPair({ isSocket });
  const messages = new Messages(near);
  await far.write(patternBytes(200, 1));
  await messages.fill();
  return { conn: messages.goOn(), far };
}

Deno.test("ContinuedConn.read() returns the early bytes first, in pieces of any size", async () => {
  for (const size of [1, 7, 100, 200, 1000]) {
    const { conn, far } = await continued();
    await far.write(patternBytes(50, 2));
    await far.closeWrite();
    const seen: number[] = [];
    const into = new Uint8Array(size);
    for (let count = await conn.read(into); count !== null; count = await conn.read(into)) {
      assert.ok(count > 0);
      seen.push(...into.subarray(0, count));
    }
    assert.deepEqual(seen, [...patternBytes(200, 1), ...patternBytes(50, 2)]);
    assert.equal(await conn.read(into), null);
    await conn[Symbol.asyncDispose]();
  }
});

for (const isEnded of [true, false]) {
  Deno.test(`ContinuedConn.read() returns the result of a running read: ${isEnded ? "the end" : "bytes"}`, async () => {
    const [near, far] = memoryPair();
    const messages = new Messages(near);
    const reading = messages.fill();
    await using conn = messages.goOn();
    assert.ok(conn instanceof ContinuedConn);
    const all = readAll(conn);
    if (!isEnded) {
      await far.write(patternBytes(10, 1));
      await far.write(patternBytes(20, 2));
    }
    await far.closeWrite();
    assert.equal(await reading, !isEnded);
    assert.deepEqual([...await all], isEnded ? [] : [...patternBytes(10, 1), ...patternBytes(20, 2)]);
  });
}

Deno.test("ContinuedConn.read() returns the result of a running read after the early bytes", async () => {
  for (const size of [100, 200, 1000]) {
    const [near, far] = memoryPair();
    const messages = new Messages(near);
    await far.write(patternBytes(200, 1));
    await messages.fill();
    const reading = messages.fill();
    await using conn = messages.goOn();
    const into = new Uint8Array(size);
    const seen: number[] = [];
    while (seen.length < 200) seen.push(...into.subarray(0, await conn.read(into) ?? 0));
    await far.write(patternBytes(50, 2));
    await reading;
    await far.closeWrite();
    seen.push(...await readAll(conn));
    assert.deepEqual(seen, [...patternBytes(200, 1), ...patternBytes(50, 2)]);
  }
});

Deno.test("Messages.goOn() returns the connection itself without early bytes", () => {
  const [near] = memoryPair();
  assert.equal(new Messages(near).goOn(), near);
});

Deno.test("ContinuedConn.readable begins with the early bytes", async () => {
  const { conn, far } = await continued();
  await far.write(patternBytes(50, 2));
  await far.closeWrite();
  const seen = new Uint8Array(await new Response(conn.readable).arrayBuffer());
  assert.deepEqual([...seen], [...patternBytes(200, 1), ...patternBytes(50, 2)]);
  await conn[Symbol.asyncDispose]();
});

Deno.test("ContinuedConn.abort() drops the early bytes", async () => {
  const { conn } = await continued();
  conn.abort(new Error("enough"));
  await assert.rejects(conn.read(new Uint8Array(10)), /enough/);
});

for (const isSocket of [true, false]) {
  Deno.test(`ContinuedConn is ${isSocket ? "a" : "no"} socket, like the wrapped connection`, async () => {
    const { conn, far } = await continued({ isSocket });
    assert.equal(conn.isSocket, isSocket);
    assert.equal(conn.carriesHalfClose, true);
    await conn.write(patternBytes(10));
    await conn.closeWrite();
    assert.deepEqual(await readAll(far), patternBytes(10));
    await conn[Symbol.asyncDispose]();
  });
}
