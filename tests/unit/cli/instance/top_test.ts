import assert from "node:assert/strict";
import { paintFor } from "../../../../src/cli/output/paint.ts";
import { sortKeys, TopChoice } from "../../../../src/cli/instance/top_choice.ts";
import { TopState } from "../../../../src/cli/instance/top_state.ts";
import { topOnce, topScreen } from "../../../../src/cli/instance/top_text.ts";
import type { WatchedStep } from "../../../../src/control/mod.ts";
import { sampleConnection, sampleWhole } from "../../../support/page_source.ts";
import { RecordingWorld } from "../recording_world.ts";

const paint = paintFor(new RecordingWorld(), "out");

/** Live connections a, b and c, in the order of their ids. */
function stateOf(targets: readonly string[] = ["a", "b", "c"]): TopState {
  const state = new TopState();
  const live = targets.map((target, at) => ({
    ...sampleConnection,
    id: at + 1,
    target,
    down: at,
    isDialling: true as const,
  }));
  state.take({ ...sampleWhole, live });
  return state;
}

function step(more: Partial<WatchedStep>): WatchedStep {
  const { connections, bytes, memory } = sampleWhole.status;
  return {
    kind: "step",
    time: "2026-01-01T00:00:02.000Z",
    counts: { connections, bytes, memory },
    ...{ begun: [], moved: [], gone: [], ended: [], log: [], traffic: { up: 0, down: 9, open: 3 } },
    ...more,
  };
}

Deno.test("TopState.take() computes rates and drops closed connections", () => {
  const state = stateOf();
  state.take(step({ moved: [[2, 1_234, 4001]], gone: [1] }));
  assert.deepEqual([...state.live.values()].map(({ id, downRate }) => [id, downRate]), [[2, 2000], [3, 0]]);
  assert.deepEqual(state.transportsInUse().get("lab"), { open: 2, up: 0, down: 2000 });
  state.take(step({ time: "2026-01-01T00:00:03.000Z" }));
  assert.equal(state.live.get(2)?.downRate, 0);
});

Deno.test("TopChoice changes the sort order and keeps the selected connection", () => {
  const state = stateOf();
  const choice = new TopChoice();
  const targets = () => choice.rows(state).map(({ target }) => target).join("");
  assert.equal(targets(), "cba");
  choice.take("\x1b[B", state);
  assert.equal(choice.place(choice.rows(state)), 1);
  choice.take("r", state);
  assert.equal(targets(), "cba");
  for (let times = 0; times < sortKeys.indexOf("down"); times++) choice.take("s", state);
  assert.deepEqual([choice.sort, targets()], ["down", "cba"]);
  choice.take("r", state);
  assert.equal(targets(), "abc");
  state.take(step({ gone: [1] }));
  assert.equal(choice.rows(state)[choice.place(choice.rows(state))]?.target, "b");
});

Deno.test("TopChoice closes only the connection in the question", () => {
  const state = stateOf();
  const choice = new TopChoice();
  assert.equal(choice.take("x", state), undefined);
  assert.equal(choice.closing?.id, 3);
  assert.equal(choice.take("n", state), undefined);
  assert.equal(choice.take("y", state), undefined, "no question is open");
  choice.take("\x1b[3~", state);
  state.take(step({ begun: [{ ...sampleConnection, id: 9, target: "z" }] }));
  assert.deepEqual(choice.take("y", state), { kind: "close", id: 3 });
  choice.take("e", state);
  choice.take("x", state);
  assert.equal(choice.closing, undefined, "an ended connection cannot be closed");
});

const keys = [
  { name: "letters while the user types a filter", typed: "/qx\r", filter: "qx", wish: undefined },
  { name: "Backspace and Ctrl-U", typed: "/ab\x7f\x15c\x7f\x7f\x7fd\r", filter: "d", wish: undefined },
  { name: "Escape, which clears the filter", typed: "/ab\x1b", filter: "", wish: undefined },
  { name: "an arrow key, which is not Escape", typed: "/ab\r\x1b[A", filter: "ab", wish: undefined },
  { name: "q", typed: "q", filter: "", wish: "quit" },
  {
    name: "the interrupt key while the user types a filter",
    typed: "/a\x03",
    filter: "a",
    wish: "interrupt",
  },
];
for (const { name, typed, filter, wish } of keys) {
  Deno.test(`TopChoice takes ${name}`, () => {
    const choice = new TopChoice();
    assert.deepEqual([choice.take(typed, stateOf())?.kind, choice.filter], [wish, filter]);
  });
}

for (const [columns, rows] of [[80, 24], [20, 6], [200, 60], [1, 1], [40, 9]] as const) {
  Deno.test(`topScreen() fits into ${columns} columns and ${rows} rows`, () => {
    const state = stateOf(Array.from({ length: 300 }, (_, at) => `host-${at}.example\x1b[2J:443`));
    const lines = topScreen(state, new TopChoice(), { columns, rows }, paint);
    assert.ok(lines.length <= rows);
    for (const line of lines) {
      assert.ok(line.length <= columns, line);
      assert.ok(!line.includes("\x1b"), "control characters are escaped");
    }
  });
}

Deno.test("topScreen() shows the selected row of many", () => {
  const state = stateOf(Array.from({ length: 300 }, (_, at) => `host-${at}`));
  const choice = new TopChoice();
  choice.take("\x1b[F", state);
  const lines = topScreen(state, choice, { columns: 100, rows: 24 }, paint);
  assert.equal(lines.length, 24);
  assert.ok(lines.some((line) => /^> +1 {2}host-0 /.test(line)), lines.join("\n"));
});

Deno.test("topOnce() shows everything and escapes control characters", () => {
  const text = topOnce(stateOf(), new TopChoice());
  assert.match(text, /^postern default {2}ready {2}127\.0\.0\.1:12000 /);
  assert.match(text, /lab +ready +3 .* via bastion\n/);
  assert.match(text, / c +bastion > lab|bastion > lab/);
  assert.match(text, /dialing/);
});
