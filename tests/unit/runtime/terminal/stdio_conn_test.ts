import assert from "node:assert/strict";
import { StdioConn } from "../../../../src/runtime/terminal/stdio_conn.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { memoryPair } from "../../../support/memory_conn.ts";

/** Standard streams in memory; `user` is the other end of both. */
function stdioWith(linger: number | undefined) {
  const clock = new FakeClock();
  const [inner, user] = memoryPair();
  let ends = 0;
  const conn = new StdioConn({
    input: { read: (into) => inner.read(new Uint8Array(into.buffer as ArrayBuffer)) },
    output: { write: async (bytes) => (await inner.write(bytes.slice()), bytes.length) },
    endOutput: () => Promise.resolve(),
    lingers: () => Promise.resolve(linger),
    inputEnded: () => ends++,
  }, clock);
  return { clock, conn, user, ends: () => ends };
}

const one = () => new Uint8Array(1);

Deno.test("StdioConn ends the input after silence, once the output has ended", async () => {
  const { clock, conn, user, ends } = stdioWith(2000);
  const reading = conn.read(one());
  await clock.advance(60_000);
  await conn.closeWrite();
  await clock.advance(1999);
  await user.write(Uint8Array.of(7));
  assert.equal(await reading, 1);
  // An upload may pause for longer.
  const next = conn.read(one());
  await clock.advance(29_999);
  await user.write(Uint8Array.of(8));
  assert.equal(await next, 1);
  const last = conn.read(one());
  await clock.advance(30_000);
  assert.equal(await last, null);
  assert.deepEqual([ends(), clock.waiting], [1, 0]);
});

Deno.test("StdioConn ends an input that stays silent after the end of the output", async () => {
  const { clock, conn, user } = stdioWith(2000);
  await user.write(Uint8Array.of(7));
  assert.equal(await conn.read(one()), 1);
  const last = conn.read(one());
  await conn.closeWrite();
  await clock.advance(2000);
  assert.equal(await last, null);
});

Deno.test("StdioConn keeps reading a silent input for an output that no program waits for", async () => {
  const { clock, conn, user } = stdioWith(undefined);
  await conn.closeWrite();
  const reading = conn.read(one());
  await clock.advance(3_600_000);
  await user.write(Uint8Array.of(7));
  assert.equal(await reading, 1);
  await user.closeWrite();
  assert.equal(await conn.read(one()), null);
});

Deno.test("StdioConn aborts when its reader leaves", async () => {
  const conn = new StdioConn({
    input: { read: () => new Promise(() => {}) },
    output: { write: () => Promise.reject(new Deno.errors.BrokenPipe("gone")) },
    endOutput: () => Promise.resolve(),
    lingers: () => Promise.resolve(undefined),
  }, new FakeClock());
  const told: unknown[] = [];
  conn.onAbort = (reason) => told.push(reason);
  const reading = assert.rejects(conn.read(one()), { code: "unreachable", detail: "reset" });
  await assert.rejects(conn.write(one()), /the reader closed it/);
  await reading;
  assert.equal(told.length, 1);
});
