import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import { skippedName } from "../../scripts/test_outcome.ts";
import type { Conn } from "../../src/core/mod.ts";
import { readAll } from "../support/memory_conn.ts";
import { patternBytes } from "../support/pattern_bytes.ts";
import { inTime, isKept } from "./kept_promise.ts";

/** Two ends of one connection; `close` releases other resources of the pair. */
export interface Pair {
  readonly near: Conn;
  readonly far: Conn;
  readonly close?: () => Promise<void>;
}

/** A kind of connection that postern creates. */
export interface ConnKind {
  readonly name: string;
  /** The class of the near end, which the suite tests. */
  readonly of: string;
  /** The files that create such a connection with `new`. */
  readonly madeBy: readonly string[];
  readonly open: () => Promise<Pair>;
  /** The promises that the carrier cannot keep, each with the reason. */
  readonly cannot?: Readonly<Partial<Record<ConnPromise, string>>> | undefined;
  /** Why it denies half-closes although this pair supports them. */
  readonly deniesHalfClose?: string | undefined;
  /** Why the suite skips this kind on this machine. */
  readonly skipped?: string | undefined;
}

export type ConnPromise = keyof typeof promises;

const bytes = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);
const text = (data: Uint8Array): string => new TextDecoder().decode(data);

/** The promises of every `Conn`. */
const promises = {
  async "fills the front of a buffer and keeps the rest"(near, far) {
    await far.write(bytes("abc"));
    const into = new Uint8Array(8).fill(1);
    let count = 0;
    while (count < 3) count += await readSome(near, into.subarray(count));
    assert.deepEqual([...into], [97, 98, 99, 1, 1, 1, 1, 1]);
  },

  async "returns the remaining bytes with the next read"(near, far) {
    await far.write(bytes("abcde"));
    const into = new Uint8Array(2);
    let seen = "";
    while (seen.length < 5) seen += text(into.subarray(0, await readSome(near, into)));
    assert.equal(seen, "abcde");
  },

  async "shows its end to the peer, repeatedly"(near, far) {
    await near.closeWrite();
    assert.equal(await far.read(new Uint8Array(1)), null);
    assert.equal(await far.read(new Uint8Array(1)), null);
  },

  async "reads null at the peer's end, repeatedly"(near, far) {
    await far.closeWrite();
    assert.equal(await near.read(new Uint8Array(1)), null);
    assert.equal(await near.read(new Uint8Array(1)), null);
  },

  async "sends every byte before the end"(near, far) {
    await near.write(bytes("last words"));
    await near.closeWrite();
    assert.equal(text(await readAll(far)), "last words");
  },

  async "sends every byte before the end to a slow, late reader"(near, far) {
    const sent = patternBytes(300_000);
    const writing = near.write(sent).then(() => near.closeWrite());
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    assert.deepEqual(await readSlowly(far), sent);
    await writing;
  },

  async "delivers every byte before the end to a slow, late reader"(near, far) {
    const sent = patternBytes(300_000);
    const writing = far.write(sent).then(() => far.closeWrite());
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    assert.deepEqual(await readSlowly(near), sent);
    await writing;
  },

  async "ends after its last byte although the peer ends earlier and reads late"(near, far) {
    // Enough bytes that one write is still pending.
    const sent = patternBytes(30_000);
    await far.write(bytes("?"));
    assert.equal(await near.read(new Uint8Array(1)), 1);
    await far.closeWrite();
    const writing = near.write(sent).then(() => near.closeWrite());
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    assert.deepEqual(await readSlowly(far), sent);
    await writing;
  },

  async "keeps reading after its own half-close"(near, far) {
    await near.write(bytes("question"));
    await near.closeWrite();
    assert.equal(text(await readAll(far)), "question");
    await far.write(bytes("answer"));
    await far.closeWrite();
    assert.equal(text(await readAll(near)), "answer");
  },

  async "keeps writing after the peer's half-close"(near, far) {
    await far.closeWrite();
    assert.equal(await near.read(new Uint8Array(1)), null);
    await near.write(bytes("still here"));
    assert.equal(text(await readExactly(far, 10)), "still here");
  },

  async "keeps both directions after `closeWrite`, with or without half-closes"(near, far) {
    await near.write(bytes("question"));
    await near.closeWrite();
    assert.equal(text(await readExactly(far, 8)), "question");
    await far.write(bytes("answer"));
    assert.equal(text(await readExactly(near, 6)), "answer");
  },

  async "does not close the socket when `writable` is closed"(near, far) {
    const writer = near.writable.getWriter();
    await writer.write(bytes("question"));
    await writer.close();
    assert.equal(text(await readAll(far)), "question");
    await far.write(bytes("answer"));
    await far.closeWrite();
    assert.equal(text(await readAll(near)), "answer");
  },

  async "does not close the socket when `readable` has ended"(near, far) {
    await far.write(bytes("hello"));
    await far.closeWrite();
    assert.equal(text(new Uint8Array(await new Response(near.readable).arrayBuffer())), "hello");
    await near.write(bytes("still here"));
    await near.closeWrite();
    assert.equal(text(await readAll(far)), "still here");
  },

  "returns the same streams each time"(near) {
    assert.equal(near.readable, near.readable);
    assert.equal(near.writable, near.writable);
    return Promise.resolve();
  },

  async "reports when it is readable, if supported"(near, far) {
    if (!near.whenReadable) return;
    const waiting = near.whenReadable();
    await far.write(bytes("abc"));
    await waiting;
    await near.whenReadable();
    assert.equal(text(await readExactly(near, 3)), "abc");
    const dropped = near.whenReadable();
    near.abort(new Error("enough"));
    await dropped;
  },

  async "fails a pending read, later reads and writes with the reason of an abort"(near) {
    const reason = new Error("enough");
    const pending = assert.rejects(near.read(new Uint8Array(1)), reason);
    near.abort(reason);
    near.abort(new Error("the second abort has no effect"));
    await pending;
    await assert.rejects(near.read(new Uint8Array(1)), reason);
    await assert.rejects(near.write(bytes("x")), reason);
  },

  async "fails a pending write with the reason of an abort"(near) {
    const reason = new Error("enough");
    const pending = assert.rejects(writeForever(near), reason);
    near.abort(reason);
    await pending;
  },

  "reports an abort once, if supported"(near) {
    if (!("onAbort" in near)) return Promise.resolve();
    const told: unknown[] = [];
    near.onAbort = (reason) => told.push(reason);
    const reason = new Error("enough");
    near.abort(reason);
    near.abort(new Error("the second abort has no effect"));
    assert.deepEqual(told, [reason]);
    return Promise.resolve();
  },

  async "does not report an abort on a normal close"(near) {
    const told: unknown[] = [];
    if ("onAbort" in near) near.onAbort = (reason) => told.push(reason);
    await near[Symbol.asyncDispose]();
    assert.deepEqual(told, []);
  },

  async "returns no early bytes after an abort"(near, far) {
    await far.write(bytes("abcdef"));
    await readSome(near, new Uint8Array(2));
    near.abort(new Error("enough"));
    await assert.rejects(near.read(new Uint8Array(2)), /enough/);
  },

  async "can be disposed twice, and the peer sees it"(near, far) {
    const pending = assert.rejects(near.read(new Uint8Array(1)));
    await near[Symbol.asyncDispose]();
    await near[Symbol.asyncDispose]();
    await pending;
    assert.equal(await far.read(new Uint8Array(1)).catch(() => null), null);
  },

  async "can be aborted, and the peer sees it"(near, far) {
    near.abort(new Error("enough"));
    assert.equal(await far.read(new Uint8Array(1)).catch(() => null), null);
  },

  async "blocks a writer while the peer does not read"(near, far) {
    let written = 0;
    const writing = writeForever(near, (count) => written += count);
    const settled = writing.then(() => "done", () => "failed");
    // All buffers are full when the first byte has arrived and the writer's count stops growing.
    const into = new Uint8Array(64 * 1024);
    assert.notEqual(await far.read(into), null);
    let before = -1;
    while (before !== written && written < most) {
      before = written;
      for (let turn = 0; turn < 50; turn++) await nextTurn();
    }
    assert.ok(written < most, `wrote ${written} bytes without a reader`);
    near.abort(new Error("enough"));
    assert.equal(await settled, "failed");
  },

  async "blocks the peer's writes while it does not read"(near, far) {
    let written = 0;
    const settled = writeForever(far, (count) => written += count).then(() => "done", () => "failed");
    const into = new Uint8Array(64 * 1024);
    assert.notEqual(await near.read(into), null);
    let before = -1;
    while (before !== written && written < most) {
      before = written;
      for (let turn = 0; turn < 50; turn++) await nextTurn();
    }
    assert.ok(written < most, `buffered ${written} bytes without a reader`);
    far.abort(new Error("enough"));
    assert.equal(await settled, "failed");
  },

  async "carries a megabyte in both directions at once unchanged"(near, far) {
    const up = patternBytes(1 << 20, 1);
    const down = patternBytes(1 << 20, 2);
    const [atFar, atNear] = await Promise.all([
      readExactly(far, up.length),
      readExactly(near, down.length),
      near.write(up),
      far.write(down),
    ]);
    assert.deepEqual(atFar, up);
    assert.deepEqual(atNear, down);
  },

  async "allows reuse of a buffer after its write has resolved"(near, far) {
    const buffer = bytes("first");
    await near.write(buffer);
    buffer.set(bytes("xxxxx"));
    assert.equal(text(await readExactly(far, 5)), "first");
  },

  "reports the peer's address"(near) {
    assert.notEqual(near.peer, "");
    return Promise.resolve();
  },
} as const satisfies Readonly<Record<string, (near: Conn, far: Conn) => Promise<void>>>;

/** Tests that one kind of connection keeps every promise, but breaks the promises in `cannot`. */
export function connContract(
  { name, of, open, cannot = {}, deniesHalfClose, skipped }: ConnKind,
): void {
  const check = (what: string, body: (near: Conn, far: Conn) => Promise<void>) =>
    Deno.test({
      name: skipped === undefined ? `${name} ${what}` : skippedName(`${name} ${what}`, skipped),
      ignore: skipped !== undefined,
      fn: async () => {
        const { near, far, close } = await open();
        try {
          await inTime(body(near, far));
        } finally {
          await near[Symbol.asyncDispose]();
          await far[Symbol.asyncDispose]();
          await close?.();
        }
      },
    });

  check(`is a ${of}`, (near) => Promise.resolve(assert.equal(near.constructor.name, of)));
  const carries = deniesHalfClose === undefined && !("shows its end to the peer, repeatedly" in cannot);
  check(`reports that it ${carries ? "carries a" : "may not carry a"} half-close`, (near) => {
    assert.equal(near.carriesHalfClose !== false, carries);
    return Promise.resolve();
  });
  for (const [promise, keep] of Object.entries(promises) as [ConnPromise, typeof promises[ConnPromise]][]) {
    const why = cannot[promise];
    if (why === undefined) check(promise, keep);
    else {
      check(`does not promise this, because ${why}: ${promise}`, async (near, far) => {
        const drop = async () => {
          await near[Symbol.asyncDispose]();
          await far[Symbol.asyncDispose]();
        };
        assert.equal(await isKept(keep(near, far), drop), false, "the promise holds: remove it from cannot");
      });
    }
  }
}

/** Swaps the ends of a pair. */
export async function swapped(pair: Promise<Pair>): Promise<Pair> {
  const { near, far, close } = await pair;
  return { near: far, far: near, ...(close && { close }) };
}

/** The promises that a carrier cannot keep if both directions end together. */
export function withoutHalfClose(why: string): Readonly<Partial<Record<ConnPromise, string>>> {
  return {
    ...withoutOwnEnd(why),
    "reads null at the peer's end, repeatedly": why,
    "delivers every byte before the end to a slow, late reader": why,
  };
}

/** The promises that fail if a carrier reports the peer's end and ends both directions. */
export function withoutOwnEnd(why: string): Readonly<Partial<Record<ConnPromise, string>>> {
  return {
    "shows its end to the peer, repeatedly": why,
    "sends every byte before the end": why,
    "sends every byte before the end to a slow, late reader": why,
    "ends after its last byte although the peer ends earlier and reads late": why,
    "keeps reading after its own half-close": why,
    "keeps writing after the peer's half-close": why,
    "does not close the socket when `writable` is closed": why,
    "does not close the socket when `readable` has ended": why,
  };
}

async function readSome(conn: Conn, into: Uint8Array<ArrayBuffer>): Promise<number> {
  const count = await conn.read(into) ?? assert.fail("ended");
  assert.ok(count > 0, "read returned no bytes for a buffer with room");
  return count;
}

async function readExactly(conn: Conn, length: number): Promise<Uint8Array<ArrayBuffer>> {
  const into = new Uint8Array(length);
  for (let at = 0; at < length;) at += await readSome(conn, into.subarray(at));
  return into;
}

/** Reads to the end in pieces of odd sizes, with a pause before each. */
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

/** More bytes than all buffers of any connection hold. */
const most = 32 * 1024 * 1024;

async function writeForever(conn: Conn, count: (bytes: number) => void = () => {}): Promise<never> {
  const chunk = new Uint8Array(64 * 1024);
  for (let written = 0; written < most; written += chunk.length) {
    await conn.write(chunk);
    count(chunk.length);
  }
  throw new Error("Cannot fill the buffers: every write succeeded");
}
