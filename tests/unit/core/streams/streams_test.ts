import assert from "node:assert/strict";
import { readableOf, writableOf } from "../../../../src/core/streams/streams.ts";
import { memoryPair, readAll } from "../../../support/memory_conn.ts";

const bytes = (...values: number[]) => new Uint8Array(values);

Deno.test("readableOf() ends with the peer's end and does not affect the writing side", async () => {
  const [near, far] = memoryPair();
  await far.write(bytes(1, 2, 3));
  await far.closeWrite();
  const chunks = await Array.fromAsync(readableOf(near));
  assert.deepEqual(chunks, [bytes(1, 2, 3)]);
  await near.write(bytes(4));
  await near.closeWrite();
  assert.deepEqual(await readAll(far), bytes(4));
});

Deno.test("readableOf() reads only on demand, in chunks of the given size", async () => {
  const [near, far] = memoryPair();
  await far.write(bytes(1, 2, 3, 4, 5));
  const reader = readableOf(near, 2).getReader();
  assert.deepEqual((await reader.read()).value, bytes(1, 2));
  const rest = new Uint8Array(9);
  assert.equal(await near.read(rest), 3);
  reader.releaseLock();
});

Deno.test("readableOf() drops the connection with the reason when it is canceled", async () => {
  const [near, far] = memoryPair();
  const reason = new Error("no more");
  await readableOf(near).cancel(reason);
  assert.equal(near.isClosed, true);
  await assert.rejects(near.read(bytes(0)), reason);
  await assert.rejects(far.read(bytes(0)));
});

Deno.test("writableOf() closes the writing side only", async () => {
  const [near, far] = memoryPair();
  const writer = writableOf(near).getWriter();
  await writer.write(bytes(1, 2));
  await writer.close();
  assert.deepEqual(await readAll(far), bytes(1, 2));
  await far.write(bytes(3));
  const into = bytes(0);
  assert.equal(await near.read(into), 1);
});

Deno.test("writableOf() drops the connection when it is aborted", async () => {
  const [near, far] = memoryPair();
  await writableOf(near).abort(new Error("broken"));
  await assert.rejects(far.read(bytes(0)));
});
