import assert from "node:assert/strict";
import { Ring } from "../../../../src/core/mod.ts";

Deno.test("Ring keeps the last elements, and returns those after a count", () => {
  const ring = new Ring<string>(3);
  assert.deepEqual(ring.since(), []);
  for (const value of ["a", "b", "c", "d", "e"]) ring.push(value);
  assert.equal(ring.count, 5);
  assert.deepEqual(ring.since(), ["c", "d", "e"]);
  assert.deepEqual(ring.since(1), ["c", "d", "e"]);
  assert.deepEqual(ring.since(4), ["e"]);
  assert.deepEqual(ring.since(5), []);
});
