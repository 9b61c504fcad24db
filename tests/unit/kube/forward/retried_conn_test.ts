import assert from "node:assert/strict";
import type { Conn } from "../../../../src/core/mod.ts";
import { RetriedConn } from "../../../../src/kube/forward/retried_conn.ts";
import { settle } from "../../../support/fake_clock.ts";
import { memoryPair, readAll } from "../../../support/memory_conn.ts";
import { patternBytes } from "../../../support/pattern_bytes.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const text = (data: Uint8Array) => new TextDecoder().decode(data);
const refused = new Error("refused");

/** A first connection and its replacements, used in order, with the far end of each. */
function ways(
  count: number,
): { first: Conn; next: () => Promise<Conn | undefined>; ends: Conn[]; asked: () => number } {
  const pairs = Array.from({ length: count }, () => memoryPair());
  const [[first] = memoryPair()] = pairs;
  let asked = 0;
  return {
    first,
    next: () => Promise.resolve(pairs[++asked]?.[0]),
    ends: pairs.map(([, end]) => end),
    asked: () => asked,
  };
}

Deno.test("RetriedConn repeats the client's data and its end on another connection", async () => {
  const { first, next, ends } = ways(3);
  await using conn = new RetriedConn({ first, next });
  await conn.write(bytes("hello "));
  await conn.write(bytes("world"));
  await conn.closeWrite();
  const answer = readAll(conn);
  ends[0]?.abort(refused);
  ends[1]?.abort(refused);
  assert.equal(text(await readAll(ends[2] ?? assert.fail())), "hello world");
  await ends[2]?.write(bytes("answer"));
  await ends[2]?.closeWrite();
  assert.equal(text(await answer), "answer");
});

Deno.test("RetriedConn throws the last failure when no connection is left", async () => {
  const { first, next, ends, asked } = ways(2);
  await using conn = new RetriedConn({ first, next });
  ends[0]?.abort(refused);
  ends[1]?.abort(refused);
  await assert.rejects(conn.read(new Uint8Array(1)), /reset/);
  assert.equal(asked(), 2);
  await assert.rejects(conn.read(new Uint8Array(1)), /reset/);
  assert.equal(asked(), 2);
});

Deno.test("RetriedConn does not retry after a byte has arrived", async () => {
  const { first, next, ends, asked } = ways(2);
  await using conn = new RetriedConn({ first, next });
  await ends[0]?.write(bytes("a"));
  assert.equal(await conn.read(new Uint8Array(8)), 1);
  ends[0]?.abort(refused);
  await assert.rejects(conn.read(new Uint8Array(8)), /reset/);
  await assert.rejects(conn.write(bytes("more")));
  assert.equal(asked(), 0);
});

Deno.test("RetriedConn does not retry after the end has arrived", async () => {
  const { first, next, ends, asked } = ways(2);
  await using conn = new RetriedConn({ first, next });
  await ends[0]?.closeWrite();
  assert.equal(await conn.read(new Uint8Array(8)), null);
  ends[0]?.abort(refused);
  await assert.rejects(conn.write(bytes("more")));
  assert.equal(asked(), 0);
});

Deno.test("RetriedConn does not retry after more data than it keeps", async () => {
  const { first, next, ends, asked } = ways(2);
  await using conn = new RetriedConn({ first, next, most: 10 });
  await conn.write(bytes("0123456789"));
  await conn.write(bytes("!"));
  ends[0]?.abort(refused);
  await assert.rejects(conn.read(new Uint8Array(8)), /reset/);
  assert.equal(asked(), 0);
});

Deno.test("RetriedConn finishes a write whose connection failed meanwhile", async () => {
  const { first, next, ends } = ways(2);
  await using conn = new RetriedConn({ first, next, most: 1 << 20 });
  const sent = patternBytes(300_000, 1);
  const reading = conn.read(new Uint8Array(8));
  const writing = conn.write(sent);
  ends[0]?.abort(refused);
  const seen = readAll(ends[1] ?? assert.fail());
  await writing;
  await conn.closeWrite();
  assert.deepEqual(await seen, sent);
  await ends[1]?.closeWrite();
  assert.equal(await reading, null);
});

for (const how of ["abort", "dispose"] as const) {
  Deno.test(`RetriedConn does not wait for the next connection after ${how}`, async () => {
    const { first, ends } = ways(1);
    const asked = Promise.withResolvers<Conn>();
    let wanted: AbortSignal | undefined;
    const conn = new RetriedConn({
      first,
      next: (_, { signal }) => {
        wanted = signal;
        return asked.promise;
      },
    });
    const pending = assert.rejects(conn.read(new Uint8Array(1)), how === "abort" ? /enough/ : /was closed/);
    ends[0]?.abort(refused);
    await settle();
    const ending = conn.closeWrite().then(() => "ended", () => "failed");
    if (how === "abort") conn.abort(new Error("enough"));
    else await conn[Symbol.asyncDispose]();
    await pending;
    await ending;
    assert.equal(wanted?.aborted, true);
    const [late, lateEnd] = memoryPair();
    asked.resolve(late);
    await assert.rejects(lateEnd.read(new Uint8Array(1)), /reset/);
  });
}

Deno.test("RetriedConn closes a connection that arrives after its own end", async () => {
  const { first, ends } = ways(1);
  const [late, lateEnd] = memoryPair();
  const asked = Promise.withResolvers<Conn>();
  const conn = new RetriedConn({ first, next: () => asked.promise });
  const pending = conn.read(new Uint8Array(1));
  ends[0]?.abort(refused);
  await settle();
  conn.abort(new Error("enough"));
  asked.resolve(late);
  await assert.rejects(pending, /enough/);
  await assert.rejects(lateEnd.read(new Uint8Array(1)), /reset/);
});
