import assert from "node:assert/strict";
import { Turns } from "../../../src/core/mod.ts";

const { signal } = new AbortController();

/** Work that records its start and ends on demand. */
function work(name: string, seen: string[]): { run: () => Promise<string>; end: () => void } {
  const { promise, resolve } = Promise.withResolvers<string>();
  return { run: () => (seen.push(name), promise), end: () => resolve(name) };
}

Deno.test("Turns.take() runs one at a time, in order, and skips aborted calls", async () => {
  const turns = new Turns();
  const seen: string[] = [];
  const [a, b, c] = [work("a", seen), work("b", seen), work("c", seen)];
  const stop = new AbortController();
  const first = turns.take(a.run, { signal });
  const second = assert.rejects(turns.take(b.run, { signal: stop.signal }), /enough/);
  const third = turns.take(c.run, { signal });
  stop.abort(new Error("enough"));
  await second;
  assert.deepEqual(seen, ["a"]);
  a.end();
  c.end();
  assert.deepEqual(await Promise.all([first, third]), ["a", "c"]);
  assert.deepEqual(seen, ["a", "c"]);
});

Deno.test("Turns.take() continues after failed work, and starts nothing for an aborted signal", async () => {
  const turns = new Turns();
  await assert.rejects(turns.take(() => Promise.reject(new Error("broken")), { signal }), /broken/);
  const over = AbortSignal.abort(new Error("over"));
  await assert.rejects(turns.take(() => Promise.reject(new Error("began")), { signal: over }), /over/);
  assert.equal(await turns.take(() => Promise.resolve(1), { signal }), 1);
});
