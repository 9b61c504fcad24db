import assert from "node:assert/strict";
import { type Decode, Messages } from "../../../../src/core/mod.ts";
import { PosternError } from "../../../../src/words/mod.ts";
import { settle } from "../../../support/fake_clock.ts";
import { memoryPair, readAll } from "../../../support/memory_conn.ts";

/** Messages of a length byte and that many bytes. */
const decodeSized: Decode<number[]> = (bytes) => {
  const used = 1 + (bytes[0] ?? 0);
  return bytes.length < used ? undefined : { value: [...bytes.subarray(1, used)], used };
};

Deno.test("Messages.read() returns complete messages at every cut, and rest() the extra bytes", async () => {
  const bytes = Uint8Array.of(2, 7, 8, 0, 1, 9, 5, 5);
  for (let size = 1; size <= bytes.length; size++) {
    const [near, far] = memoryPair();
    for (let at = 0; at < bytes.length; at += size) await far.write(bytes.slice(at, at + size));
    await far.closeWrite();
    const messages = new Messages(near, { initial: 4 });
    assert.deepEqual(await messages.read(decodeSized), [7, 8]);
    assert.deepEqual(await messages.read(decodeSized), []);
    assert.deepEqual(await messages.read(decodeSized), [9]);
    while (await messages.fill());
    assert.deepEqual([...messages.rest()], [5, 5]);
    assert.equal(await messages.read(decodeSized), undefined);
    assert(messages.isEnded);
  }
});

Deno.test("Messages.read() rejects when the peer ends in the middle of a message, or sends a message that is too long", async () => {
  const [near, far] = memoryPair();
  await far.write(Uint8Array.of(3, 1));
  await far.closeWrite();
  await assert.rejects(new Messages(near).read(decodeSized), /closed the connection in the middle/);
  const [long, other] = memoryPair();
  await other.write(new Uint8Array(40).fill(200));
  await assert.rejects(
    new Messages(long, { initial: 8, limit: 32 }).read(decodeSized),
    (error) => error instanceof PosternError && error.code === "protocol",
  );
});

Deno.test("Messages.read() takes a larger limit for a message, and still reads bodies in pieces of 64 KiB", async () => {
  const [near, far] = memoryPair({ capacity: 1_000_000 });
  const messages = new Messages(near);
  const size = 200_000;
  const whole: Decode<number> = (bytes) => bytes.length < size ? undefined : { value: size, used: size };
  await far.write(new Uint8Array(size + 500_000));
  assert.equal(await messages.read(whole, { limit: size }), size);
  let largest = 0;
  for (let left = 500_000; left > 0;) {
    if (messages.pending.length === 0) await messages.fill();
    const taken = messages.take(500_000).length;
    largest = Math.max(largest, taken);
    left -= taken;
  }
  assert.equal(largest, 64 * 1024);
});

Deno.test("Messages.fill() shares one read between concurrent calls, and loses no byte", async () => {
  const [near, far] = memoryPair();
  const messages = new Messages(near);
  const ahead = messages.fill();
  const read = messages.read(decodeSized);
  await settle();
  await far.write(Uint8Array.of(1, 42, 1, 43));
  assert.equal(await ahead, true);
  assert.deepEqual(await read, [42]);
  assert.deepEqual(await messages.read(decodeSized), [43]);
  const last = [messages.fill(), messages.fill()];
  await far.closeWrite();
  assert.deepEqual(await Promise.all(last), [false, false]);
  assert.equal(await messages.fill(), false);
});

Deno.test("Messages.fill() reads again after a failed read", async () => {
  let count = 0;
  const [near, far] = memoryPair();
  const messages = new Messages(Object.assign(near, {
    read: () => count++ === 0 ? Promise.reject(new Error("for now")) : Promise.resolve(null),
  }));
  await assert.rejects(messages.fill(), /for now/);
  assert.equal(await messages.fill(), false);
  await far[Symbol.asyncDispose]();
});

Deno.test("putBack() puts bytes in front of received and later bytes", async () => {
  const [near, far] = memoryPair();
  await far.write(new TextEncoder().encode("ahead|head|rest"));
  const messages = new Messages(near);
  await messages.fill();
  const ahead = messages.take(6).slice();
  messages.take(5);
  messages.putBack(ahead);
  await far.write(new TextEncoder().encode("|more"));
  await far.closeWrite();
  assert.equal(new TextDecoder().decode(await readAll(messages.goOn())), "ahead|rest|more");
});
