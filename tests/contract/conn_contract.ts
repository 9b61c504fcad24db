import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import { skippedName } from "../../scripts/test_outcome.ts";
import type { Conn } from "../../src/core/mod.ts";
import { readAll } from "../support/memory_conn.ts";
import { patternBytes } from "../support/pattern_bytes.ts";

/** Two ends of one connection; whatever else it needs is given back by `close`. */
export interface Pair {
  readonly near: Conn;
  readonly far: Conn;
  readonly close?: () => Promise<void>;
}

const bytes = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);
const text = (data: Uint8Array): string => new TextDecoder().decode(data);

/** What every `Conn` promises; `skipped` says why that cannot be tried here. */
export function connContract(
  name: string,
  makePair: () => Promise<Pair>,
  { skipped }: { readonly skipped?: string | undefined } = {},
): void {
  const check = (promise: string, body: (near: Conn, far: Conn) => Promise<void>) =>
    Deno.test({
      name: skipped === undefined ? `${name} ${promise}` : skippedName(`${name} ${promise}`, skipped),
      ignore: skipped !== undefined,
      fn: async () => {
        const { near, far, close } = await makePair();
        try {
          await body(near, far);
        } finally {
          await near[Symbol.asyncDispose]();
          await far[Symbol.asyncDispose]();
          await close?.();
        }
      },
    });

  check("fills the front of a buffer and leaves the rest alone", async (near, far) => {
    await near.write(bytes("abc"));
    const into = new Uint8Array(8).fill(1);
    assert.equal(await far.read(into), 3);
    assert.deepEqual([...into], [97, 98, 99, 1, 1, 1, 1, 1]);
  });

  check("gives what does not fit with the next read", async (near, far) => {
    await near.write(bytes("abcde"));
    const into = new Uint8Array(2);
    let seen = "";
    while (seen.length < 5) seen += text(into.subarray(0, await far.read(into) ?? assert.fail("ended")));
    assert.equal(seen, "abcde");
  });

  check("reads null at the peer's end, and again after it", async (near, far) => {
    await near.closeWrite();
    assert.equal(await far.read(new Uint8Array(1)), null);
    assert.equal(await far.read(new Uint8Array(1)), null);
  });

  check("gives every byte before the end", async (near, far) => {
    await near.write(bytes("last words"));
    await near.closeWrite();
    assert.equal(text(await readAll(far)), "last words");
  });

  check("gives every byte before the end to a reader that is slow and comes late", async (near, far) => {
    const sent = patternBytes(300_000);
    const writing = near.write(sent).then(() => near.closeWrite());
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    assert.deepEqual(await readSlowly(far), sent);
    await writing;
  });

  check("ends after its last byte, though the peer ends meanwhile and reads late", async (near, far) => {
    // So much that one write below is still under way.
    const sent = patternBytes(30_000);
    await far.write(bytes("?"));
    assert.equal(await near.read(new Uint8Array(1)), 1);
    await far.closeWrite();
    const writing = near.write(sent).then(() => near.closeWrite());
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    assert.deepEqual(await readSlowly(far), sent);
    await writing;
  });

  check("reads on after its own half-close", async (near, far) => {
    await near.write(bytes("question"));
    await near.closeWrite();
    assert.equal(text(await readAll(far)), "question");
    await far.write(bytes("answer"));
    await far.closeWrite();
    assert.equal(text(await readAll(near)), "answer");
  });

  check("does not close the socket when `writable` is closed", async (near, far) => {
    const writer = near.writable.getWriter();
    await writer.write(bytes("question"));
    await writer.close();
    assert.equal(text(await readAll(far)), "question");
    await far.write(bytes("answer"));
    await far.closeWrite();
    assert.equal(text(await readAll(near)), "answer");
  });

  check("does not close the socket when `readable` has ended", async (near, far) => {
    await far.write(bytes("hello"));
    await far.closeWrite();
    assert.equal(text(new Uint8Array(await new Response(near.readable).arrayBuffer())), "hello");
    await near.write(bytes("still here"));
    await near.closeWrite();
    assert.equal(text(await readAll(far)), "still here");
  });

  check("gives the same streams each time", (near) => {
    assert.equal(near.readable, near.readable);
    assert.equal(near.writable, near.writable);
    return Promise.resolve();
  });

  check("fails a pending read, later reads and writes with the reason of an abort", async (near) => {
    const reason = new Error("enough");
    const pending = assert.rejects(near.read(new Uint8Array(1)), reason);
    near.abort(reason);
    near.abort(new Error("the second one counts for nothing"));
    await pending;
    await assert.rejects(near.read(new Uint8Array(1)), reason);
    await assert.rejects(near.write(bytes("x")), reason);
  });

  check("fails a pending write with the reason of an abort", async (near) => {
    const reason = new Error("enough");
    const pending = assert.rejects(writeForever(near), reason);
    near.abort(reason);
    await pending;
  });

  check("tells once that it is aborted, if it tells", (near) => {
    if (!("onAbort" in near)) return Promise.resolve();
    const told: unknown[] = [];
    near.onAbort = (reason) => told.push(reason);
    const reason = new Error("enough");
    near.abort(reason);
    near.abort(new Error("the second one counts for nothing"));
    assert.deepEqual(told, [reason]);
    return Promise.resolve();
  });

  check("does not tell of an abort when it is only closed", async (near) => {
    const told: unknown[] = [];
    if ("onAbort" in near) near.onAbort = (reason) => told.push(reason);
    await near[Symbol.asyncDispose]();
    assert.deepEqual(told, []);
  });

  check("does not hand out early bytes after an abort", async (near, far) => {
    await far.write(bytes("abcdef"));
    await near.read(new Uint8Array(2));
    near.abort(new Error("enough"));
    await assert.rejects(near.read(new Uint8Array(2)), /enough/);
  });

  check("can be disposed twice, and the peer sees it", async (near, far) => {
    const pending = assert.rejects(near.read(new Uint8Array(1)));
    await near[Symbol.asyncDispose]();
    await near[Symbol.asyncDispose]();
    await pending;
    assert.equal(await far.read(new Uint8Array(1)).catch(() => null), null);
  });

  check("makes a writer wait while nobody reads", async (near, far) => {
    let written = 0;
    const writing = writeForever(near, (count) => written += count);
    const settled = writing.then(() => "done", () => "failed");
    // The writer has filled every buffer on the way once the first byte is here and its count stands still.
    const into = new Uint8Array(64 * 1024);
    assert.notEqual(await far.read(into), null);
    let before = -1;
    while (before !== written && written < most) {
      before = written;
      for (let turn = 0; turn < 50; turn++) await nextTurn();
    }
    assert.ok(written < most, `wrote ${written} bytes to nobody`);
    near.abort(new Error("enough"));
    assert.equal(await settled, "failed");
  });

  check("carries a megabyte each way at once unchanged", async (near, far) => {
    const up = patternBytes(1 << 20, 1);
    const down = patternBytes(1 << 20, 2);
    const [atFar, atNear] = await Promise.all([
      readAll(far),
      readAll(near),
      near.write(up).then(() => near.closeWrite()),
      far.write(down).then(() => far.closeWrite()),
    ]);
    assert.deepEqual(atFar, up);
    assert.deepEqual(atNear, down);
  });

  check("lets a buffer be used again once its write has resolved", async (near, far) => {
    const buffer = bytes("first");
    await near.write(buffer);
    buffer.set(bytes("xxxxx"));
    await near.closeWrite();
    assert.equal(text(await readAll(far)), "first");
  });

  check("tells who the peer is", (near) => {
    assert.notEqual(near.peer, "");
    return Promise.resolve();
  });
}

/** Reads to the end in odd pieces, with a pause before each. */
async function readSlowly(conn: Conn): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  while (true) {
    await nextTurn();
    const into = new Uint8Array(4099);
    const count = await conn.read(into);
    if (count === null) return new Uint8Array(await new Blob(pieces).arrayBuffer());
    pieces.push(into.subarray(0, count));
  }
}

/** More than all buffers on any way. */
const most = 32 * 1024 * 1024;

async function writeForever(conn: Conn, count: (bytes: number) => void = () => {}): Promise<never> {
  const chunk = new Uint8Array(64 * 1024);
  for (let written = 0; written < most; written += chunk.length) {
    await conn.write(chunk);
    count(chunk.length);
  }
  throw new Error("wrote without end");
}
