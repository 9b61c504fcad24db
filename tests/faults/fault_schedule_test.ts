import assert from "node:assert/strict";
import { narrowed, planSchedule, scheduleText } from "./fault_schedule.ts";

const parts = [
  {
    name: "api",
    kinds: [{ kind: "freeze", lasts: [300, 9000] as const }, { kind: "cut", lasts: [0, 0] as const }],
  },
  { name: "instance", kinds: [{ kind: "reload", lasts: [0, 0] as const }] },
];
const ways = [{ name: "direct", carriesHalfClose: true }, { name: "hosted", carriesHalfClose: false }];
const plan = (seed: number, lasts = 60_000) => planSchedule({ seed, lasts, parts, ways });

Deno.test("planSchedule() returns the same schedule for the same seed and another for the next seed", () => {
  assert.deepEqual(plan(7), plan(7));
  assert.notDeepEqual(plan(7).faults, plan(8).faults);
  assert.notDeepEqual(plan(7).streams, plan(8).streams);
});

Deno.test("planSchedule() starts a long schedule like a short one", () => {
  const [short, long] = [plan(3, 20_000), plan(3, 60_000)];
  assert.deepEqual(long.faults.slice(0, short.faults.length), short.faults);
  assert.deepEqual(long.streams.slice(0, short.streams.length), short.streams);
});

Deno.test("planSchedule() plans one fault at a time for each part, within the length", () => {
  for (let seed = 0; seed < 50; seed++) {
    const { faults } = plan(seed);
    assert.ok(faults.length > 10);
    for (const [at, fault] of faults.entries()) {
      assert.ok(fault.at < 60_000);
      const next = faults.slice(at + 1).find(({ part }) => part === fault.part);
      assert.ok(!next || next.at > fault.at + fault.lasts, `${seed}: ${JSON.stringify([fault, next])}`);
    }
  }
});

Deno.test("planSchedule() half-closes only where the route forwards it, and limits pauses", () => {
  for (let seed = 0; seed < 50; seed++) {
    const { streams } = plan(seed);
    assert.ok(streams.some(({ isHalfClosed }) => isHalfClosed));
    assert.deepEqual(streams.map(({ id }) => id), streams.map((_, at) => at + 1));
    for (const { way, isHalfClosed, up, down, piece, pause } of streams) {
      assert.ok(way === "direct" || !isHalfClosed);
      assert.ok(Math.max(up, down) / piece * pause <= 15_000);
    }
  }
});

Deno.test("narrowed() removes faults without moving others", () => {
  const whole = plan(5);
  assert.equal(narrowed(whole, []), whole);
  for (const only of [["api"], ["api/cut", "instance"]]) {
    const some = narrowed(whole, only);
    assert.deepEqual(some.streams, whole.streams);
    assert.ok(some.faults.length > 0 && some.faults.length < whole.faults.length);
    assert.ok(some.faults.every((fault) => whole.faults.includes(fault)));
  }
  assert.deepEqual(narrowed(whole, ["api/cut"]).faults.filter(({ kind }) => kind !== "cut"), []);
});

Deno.test("scheduleText() has a line for each fault", () => {
  const whole = plan(5);
  assert.equal(scheduleText(whole).split("\n").length, whole.faults.length + 1);
  assert.match(
    scheduleText(whole),
    /^seed 5: \d+ faults, \d+ streams\n {2,}\d+\.\d\d s {2}(?:api|instance)\//,
  );
});
