import assert from "node:assert/strict";
import { whenAborted } from "../../../src/core/mod.ts";

const cases = [
  { name: "when the signal aborts", before: false, during: true, after: false, calls: 1 },
  { name: "immediately for an aborted signal", before: true, during: false, after: false, calls: 1 },
  { name: "nothing after disposal", before: false, during: false, after: true, calls: 0 },
];
for (const { name, before, during, after, calls } of cases) {
  Deno.test(`whenAborted() calls ${name}`, () => {
    const stop = new AbortController();
    let called = 0;
    if (before) stop.abort();
    {
      using _waiting = whenAborted(stop.signal, () => void called++);
      if (during) stop.abort();
    }
    if (after) stop.abort();
    assert.equal(called, calls);
  });
}

Deno.test("whenAborted() does nothing without a signal", () => {
  whenAborted(undefined, () => assert.fail())[Symbol.dispose]();
});
