import assert from "node:assert/strict";
import fc from "fast-check";
import { HeldBytes } from "../../../../src/core/streams/held_bytes.ts";
import { patternBytes } from "../../../support/pattern_bytes.ts";

Deno.test("HeldBytes returns its bytes in order, for all piece sizes", () => {
  const size = fc.oneof(fc.nat(40), fc.nat(3000), fc.constant(40_000));
  const all = patternBytes(80 * 40_000);
  const step = fc.record({ isPush: fc.boolean(), size });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const held = new HeldBytes();
      let [given, taken] = [0, 0];
      for (const { isPush, size } of steps) {
        if (isPush) {
          held.push(all.slice(given, given + size));
          given += size;
        } else {
          const into = new Uint8Array(size);
          const count = held.take(into);
          assert.equal(count, Math.min(size, given - taken));
          assert.deepEqual(into.subarray(0, count), all.subarray(taken, taken + count));
          taken += count;
        }
        assert.equal(held.length, given - taken);
      }
    }),
    { numRuns: 60 },
  );
});

Deno.test("HeldBytes gathers small pieces, so that they cost no more than large ones", () => {
  const held = new HeldBytes();
  for (let at = 0; at < 100_000; at++) held.push(Uint8Array.of(at & 0xff));
  assert.ok(held.pieces < 20, `${held.pieces} pieces`);
  const into = new Uint8Array(100_001);
  assert.equal(held.take(into), 100_000);
  assert.ok(into.subarray(0, 100_000).every((byte, at) => byte === (at & 0xff)));
  assert.equal(held.pieces, 0);
});

Deno.test("HeldBytes does not change the pieces", () => {
  const held = new HeldBytes();
  const whole = patternBytes(100);
  for (let at = 0; at < 100; at++) held.push(whole.subarray(at, at + 1));
  assert.deepEqual(whole, patternBytes(100));
});

Deno.test("HeldBytes.clear() drops all bytes", () => {
  const held = new HeldBytes();
  for (let at = 0; at < 50; at++) held.push(new Uint8Array(10));
  held.clear();
  assert.deepEqual([held.length, held.pieces, held.take(new Uint8Array(5))], [0, 0, 0]);
});
