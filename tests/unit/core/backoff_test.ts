import assert from "node:assert/strict";
import { backoff } from "../../../src/core/mod.ts";

const waits = (terms: Parameters<typeof backoff>[1]) => [0, 1, 2, 3].map((again) => backoff(again, terms));

Deno.test("backoff() doubles from the first wait to the longest", () => {
  assert.deepEqual(waits({ first: 250, most: 1500 }), [250, 500, 1000, 1500]);
});

Deno.test("backoff() grows by the given factor", () => {
  assert.deepEqual(waits({ first: 8, factor: 1.5 }), [8, 12, 18, 27]);
});

Deno.test("backoff() stays at the longest wait", () => {
  assert.equal(backoff(100_000, { first: 1, most: 60_000 }), 60_000);
});
