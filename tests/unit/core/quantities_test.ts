import assert from "node:assert/strict";
import { counted, formatAge, formatBytes } from "../../../src/core/mod.ts";

const sizes: readonly (readonly [number, string])[] = [
  [0, "0 B"],
  [999, "999 B"],
  [1000, "1.0 kB"],
  [9949, "9.9 kB"],
  [9950, "10 kB"],
  [999_499, "999 kB"],
  [999_500, "1.0 MB"],
  [1.5e9, "1.5 GB"],
  [2e15, "2.0 PB"],
  [5e18, "5000 PB"],
];

for (const [bytes, text] of sizes) {
  Deno.test(`formatBytes() of ${bytes}`, () => assert.equal(formatBytes(bytes), text));
}

const ages: readonly (readonly [number, string])[] = [
  [-5, "0s"],
  [999, "0s"],
  [1000, "1s"],
  [60_000, "1m"],
  [61_500, "1m 1s"],
  [3_600_000, "1h"],
  [3_605_000, "1h"],
  [90_061_000, "1d 1h"],
];

for (const [ms, text] of ages) {
  Deno.test(`formatAge() of ${ms} ms`, () => assert.equal(formatAge(ms), text));
}

Deno.test("counted() distinguishes singular and plural", () => {
  assert.deepEqual([0, 1, 2].map((count) => counted(count, "tunnel")), [
    "0 tunnels",
    "1 tunnel",
    "2 tunnels",
  ]);
});
