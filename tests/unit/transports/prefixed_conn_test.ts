import assert from "node:assert/strict";
import { PrefixedConn } from "../../../src/transports/prefixed_conn.ts";
import { memoryPair, readAll } from "../../support/memory_conn.ts";
import { patternBytes } from "../../support/pattern_bytes.ts";

Deno.test("PrefixedConn.read() gives the early bytes first, in pieces of any size", async () => {
  for (const size of [1, 7, 100, 200, 1000]) {
    const [near, far] = memoryPair();
    await far.write(patternBytes(50, 2));
    await far.closeWrite();
    await using conn = new PrefixedConn(near, patternBytes(200, 1));
    const seen: number[] = [];
    const into = new Uint8Array(size);
    for (let count = await conn.read(into); count !== null; count = await conn.read(into)) {
      assert.ok(count > 0);
      seen.push(...into.subarray(0, count));
    }
    assert.deepEqual(seen, [...patternBytes(200, 1), ...patternBytes(50, 2)]);
  }
});

Deno.test("PrefixedConn.readable begins with the early bytes", async () => {
  const [near, far] = memoryPair();
  await far.write(patternBytes(50, 2));
  await far.closeWrite();
  await using conn = new PrefixedConn(near, patternBytes(200, 1));
  const seen = new Uint8Array(await new Response(conn.readable).arrayBuffer());
  assert.deepEqual([...seen], [...patternBytes(200, 1), ...patternBytes(50, 2)]);
});

Deno.test("PrefixedConn.abort() takes the early bytes back", async () => {
  const [near] = memoryPair();
  const conn = new PrefixedConn(near, patternBytes(200));
  conn.abort(new Error("enough"));
  await assert.rejects(conn.read(new Uint8Array(10)), /enough/);
});

for (const isSocket of [true, false]) {
  Deno.test(`PrefixedConn is ${isSocket ? "a" : "no"} socket as what it wraps`, async () => {
    const [near, far] = memoryPair({ isSocket });
    await using conn = new PrefixedConn(near, patternBytes(1));
    assert.equal(conn.isSocket, isSocket);
    assert.equal(conn.carriesHalfClose, true);
    await conn.write(patternBytes(10));
    await conn.closeWrite();
    assert.deepEqual(await readAll(far), patternBytes(10));
  });
}
