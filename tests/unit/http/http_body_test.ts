import assert from "node:assert/strict";
import { Messages } from "../../../src/core/mod.ts";
import { copyBody, readBody } from "../../../src/http/mod.ts";
import type { Framing } from "../../../src/wire/mod.ts";
import { memoryPair } from "../../support/memory_conn.ts";

const mebi = 1024 * 1024;

Deno.test("copyBody() copies a large body in large pieces, then shrinks its buffer", async () => {
  const [near, far] = memoryPair({ capacity: mebi });
  await near.write(new Uint8Array(mebi));
  const messages = new Messages(far);
  const sizes: number[] = [];
  await copyBody(
    messages,
    { kind: "length", length: mebi },
    (bytes) => Promise.resolve(void sizes.push(bytes.length)),
  );
  assert.equal(sizes.reduce((sum, size) => sum + size), mebi);
  assert.equal(sizes[0], 512);
  assert.ok(sizes.length < 25, `${sizes.length} pieces`);
  await near.write(new Uint8Array(100));
  await messages.fill();
  messages.take(100);
  await near.write(new Uint8Array(mebi / 2));
  await messages.fill();
  assert.equal(messages.pending.length, 512);
});

Deno.test("copyBody() stops reading while the writer is blocked", async () => {
  const [near, far] = memoryPair({ capacity: 4096 });
  const sent = near.write(new Uint8Array(65536));
  const failure = new Error("full");
  const taken: number[] = [];
  await assert.rejects(
    copyBody(new Messages(far), { kind: "close" }, (bytes) => {
      taken.push(bytes.length);
      return taken.length === 3 ? Promise.reject(failure) : Promise.resolve();
    }),
    (error) => error === failure,
  );
  assert.equal(taken.length, 3);
  far.abort();
  await assert.rejects(sent);
});

const early: readonly { framing: Framing; sent: string }[] = [
  { framing: { kind: "length", length: 5 }, sent: "four" },
  { framing: { kind: "chunked" }, sent: "" },
  { framing: { kind: "chunked" }, sent: "4\r\nfour\r\n" },
];
for (const { framing, sent } of early) {
  Deno.test(`readBody() fails when a ${framing.kind} body ends after ${JSON.stringify(sent)}`, async () => {
    const [near, far] = memoryPair();
    await near.write(new TextEncoder().encode(sent));
    await near.closeWrite();
    await assert.rejects(readBody(new Messages(far), framing, { limit: 100 }), { code: "protocol" });
  });
}
