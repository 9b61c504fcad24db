import assert from "node:assert/strict";
import { Inbox } from "../../../../src/core/mod.ts";

Deno.test("Inbox copies lent bytes, and keeps others without copying", async () => {
  for (const areLent of [true, false]) {
    const inbox = new Inbox(() => {}, { areLent });
    const [bytes, into] = [new Uint8Array(4).fill(1), new Uint8Array(2)];
    const reading = inbox.read(into);
    inbox.put(bytes);
    assert.equal(await reading, 2);
    inbox.put(bytes);
    bytes.fill(2);
    const rest = new Uint8Array(8);
    assert.equal(await inbox.read(rest), 6);
    assert.deepEqual(rest.subarray(0, 6), new Uint8Array(6).fill(areLent ? 1 : 2));
  }
});

Deno.test("Inbox ignores empty pieces while a reader waits", async () => {
  const used: number[] = [];
  const inbox = new Inbox((count) => used.push(count));
  const reading = inbox.read(new Uint8Array(4));
  inbox.put(new Uint8Array(0));
  assert.deepEqual(used, []);
  inbox.put(new Uint8Array(3));
  assert.equal(await reading, 3);
  assert.deepEqual(used, [3]);
});

Deno.test("Inbox returns bytes before a failure, and a failure before the end", async () => {
  const inbox = new Inbox(() => {});
  inbox.put(new Uint8Array(3));
  inbox.end();
  inbox.fail(new Error("the first"));
  inbox.fail(new Error("another"));
  const into = new Uint8Array(8);
  assert.equal(await inbox.read(into), 3);
  await assert.rejects(inbox.read(into), /the first/);
});
