import assert from "node:assert/strict";
import { chosen, seen } from "../../../../../src/listeners/pages/live_page/rows.js";
import { pathTo, State } from "../../../../../src/listeners/pages/live_page/state.js";
import type { LoggedLine, WatchedStep } from "../../../../../src/control/mod.ts";
import { sampleConnection, sampleWhole } from "../../../../support/page_source.ts";

const counts = {
  connections: { open: 1, total: 1, failed: 0 },
  bytes: { up: 0, down: 0 },
  memory: { resident: 1 },
};
const traffic = { up: 0, down: 0, open: 1 };
const nothing = { counts, begun: [], moved: [], gone: [], ended: [], log: [], traffic };

function begun() {
  const state = new State();
  state.take(structuredClone(sampleWhole));
  return state;
}

function step(time: string, more: Partial<WatchedStep>): WatchedStep {
  return structuredClone({ kind: "step", ...nothing, time, ...more });
}

Deno.test("State.take() computes rates, and 0 for connections without traffic", () => {
  const state = begun();
  const connection = state.live.get(7);
  state.take(step("2026-01-01T00:00:02.000Z", { moved: [[7, 1_234, 5_604_000], [99, 1, 1]] }));
  assert.deepEqual([connection?.upRate, connection?.downRate], [0, 2000]);
  state.take(step("2026-01-01T00:00:03.000Z", {}));
  assert.deepEqual([connection?.upRate, connection?.downRate, connection?.down], [0, 0, 5_604_000]);
});

Deno.test("State.take() accepts repeated updates", () => {
  const state = begun();
  const over = { endedAt: "2026-01-01T00:00:01.000Z", outcome: "done" };
  const line: LoggedLine = {
    number: 1,
    time: "2026-01-01T00:00:01.000Z",
    level: "info",
    event: "conn.done",
    fields: "",
  };
  const message: Partial<WatchedStep> = {
    gone: [7],
    ended: [{ ...sampleConnection, ...over }],
    log: [line],
  };
  state.take(step("2026-01-01T00:00:01.000Z", message));
  state.take(step("2026-01-01T00:00:02.000Z", message));
  assert.deepEqual([state.live.size, state.ended.length, state.log.length], [0, 1, 1]);
});

Deno.test("State.take() keeps the connection objects across whole states", () => {
  const state = begun();
  const connection = state.live.get(7);
  state.take({ ...sampleWhole, live: [{ ...sampleConnection, up: 9_999 }] });
  assert.equal(state.live.get(7), connection);
  assert.equal(connection?.up, 9_999);
});

Deno.test("State.take() limits what it keeps to what the page shows", () => {
  const state = begun();
  for (let round = 1; round <= 4; round++) {
    const ended = Array.from({ length: 100 }, (_, at) => ({
      ...sampleConnection,
      id: round * 100 + at,
      endedAt: "",
      outcome: "done",
    }));
    const log = ended.map(({ id }): LoggedLine => ({
      number: id,
      time: "",
      level: "info",
      event: "x",
      fields: "",
    }));
    state.take(step("2026-01-01T00:00:01.000Z", { ended, log }));
  }
  assert.deepEqual([state.ended.length, state.log.length], [200, 300]);
  for (let at = 0; at < 400; at++) state.take(step("2026-01-01T00:00:01.000Z", {}));
  assert.equal(state.traffic.length, 300);
});

Deno.test("pathTo() lists the transports on a path, nearest first, and stops at a cycle", () => {
  const transports = [["a", "b"], ["b", "c"], ["c", undefined], ["x", "y"], ["y", "x"]].map((
    [name = "", via],
  ) => ({
    ...{ name, type: "proxy", state: "idle" as const, dials: 0, failures: 0 },
    ...(via === undefined ? {} : { via }),
  }));
  assert.deepEqual(pathTo("a", transports), ["c", "b", "a"]);
  assert.deepEqual(pathTo("c", transports), ["c"]);
  assert.deepEqual(pathTo("x", transports), ["y", "x"]);
  assert.deepEqual(pathTo("gone", transports), ["gone"]);
});

const three = [
  { ...sampleConnection, id: 1, target: "b.example:80", down: 5, because: 'rule "one"' },
  { ...sampleConnection, id: 2, target: "a.example:80", down: 9, because: "default" },
  {
    ...sampleConnection,
    id: 3,
    target: "c.test:80",
    down: 5,
    because: "default",
    startedAt: "2026-01-02T00:00:00Z",
  },
];
const orders = [
  { filter: "", key: "target", isDescending: false, ids: [2, 1, 3] },
  { filter: "", key: "down", isDescending: true, ids: [2, 3, 1] },
  { filter: "", key: "age", isDescending: false, ids: [3, 2, 1] },
  { filter: "", key: "age", isDescending: true, ids: [2, 1, 3] },
  { filter: "EXAMPLE default", key: "target", isDescending: false, ids: [2] },
  { filter: "#3", key: "target", isDescending: false, ids: [3] },
  { filter: "nowhere", key: "target", isDescending: false, ids: [] },
];
for (const { filter, key, isDescending, ids } of orders) {
  Deno.test(`chosen() filters "${filter}" and sorts by ${key}${isDescending ? ", descending" : ""}`, () => {
    assert.deepEqual(chosen(three, filter, { key, isDescending }).map(({ id }) => id), ids);
  });
}

Deno.test("seen() returns the visible rows, and the height of the others", () => {
  const all = { count: 1000, height: 400, row: 34 };
  assert.deepEqual(seen({ ...all, top: 0 }), { first: 0, last: 18, above: 0, below: 982 * 34 });
  assert.deepEqual(seen({ ...all, top: 3400 }), { first: 94, last: 118, above: 94 * 34, below: 882 * 34 });
  assert.deepEqual(seen({ ...all, top: 34_000 }).last, 1000);
  assert.deepEqual(seen({ ...all, count: 0, top: 0 }), { first: 0, last: 0, above: 0, below: 0 });
  assert.deepEqual(seen({ ...all, count: 1, top: 9999 }), { first: 0, last: 1, above: 0, below: 0 });
});
