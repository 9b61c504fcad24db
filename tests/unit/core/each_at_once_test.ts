import assert from "node:assert/strict";
import { eachAtOnce } from "../../../src/core/mod.ts";

Deno.test("eachAtOnce() runs at most so many at once and keeps the order of the results", async () => {
  let [now, most] = [0, 0];
  const results = await eachAtOnce([3, 1, 2, 0, 4], 2, async (turns) => {
    most = Math.max(most, ++now);
    for (let turn = 0; turn < turns; turn++) await Promise.resolve();
    now--;
    return turns * 10;
  });
  assert.deepEqual([results, most], [[30, 10, 20, 0, 40], 2]);
});

Deno.test("eachAtOnce() rejects when one work fails, and finishes the others", async () => {
  const done: number[] = [];
  const ended = eachAtOnce([1, 2, 3, 4], 2, async (item) => {
    await Promise.resolve();
    if (item === 1) throw new Error("one");
    done.push(item);
  });
  await assert.rejects(ended, /one/);
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  assert.deepEqual(done, [2, 3, 4]);
});
