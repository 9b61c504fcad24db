import assert from "node:assert/strict";
import { DialCounts } from "../../../../src/instance/dials/dial_counts.ts";
import type { TransportStatus } from "../../../../src/core/mod.ts";
import type { BuiltTransport } from "../../../../src/transports/mod.ts";

function built(name: string, status?: TransportStatus): BuiltTransport {
  return {
    name,
    type: "proxy",
    settings: undefined,
    via: "corp",
    transport: {
      name,
      dial: () => Promise.reject(new Error("unexpected dial")),
      ...(status && { status: () => status }),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    },
  };
}

Deno.test("DialCounts.state() returns the counts", () => {
  const counts = new DialCounts();
  const idle = { state: "idle", name: "a", type: "proxy", via: "corp", dials: 0, failures: 0 };
  assert.deepEqual(counts.state(built("a")), idle);
  counts.add("a");
  counts.add("a", new Error("refused"));
  counts.add("b");
  assert.deepEqual(counts.state(built("a")), {
    ...idle,
    state: "ready",
    lastError: "refused",
    dials: 2,
    failures: 1,
  });
});

Deno.test("DialCounts.state() includes the status of a transport, except its name", () => {
  const counts = new DialCounts();
  const status: TransportStatus = { state: "failing", lastError: "session lost", name: "liar", sessions: 2 };
  const { state, lastError, name, sessions } = counts.state(built("a", status));
  assert.deepEqual({ state, lastError, name, sessions }, {
    state: "failing",
    lastError: "session lost",
    name: "a",
    sessions: 2,
  });
});
