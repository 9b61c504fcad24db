import assert from "node:assert/strict";
import { Deadlines } from "../../../src/core/mod.ts";
import { FakeClock } from "../../support/fake_clock.ts";

Deno.test("Deadlines.add() keeps the next deadline in time when a task adds another", async () => {
  const clock = new FakeClock();
  const deadlines = new Deadlines(clock);
  const rang: string[] = [];
  deadlines.add(1000, () => {
    rang.push(`a ${clock.now()}`);
    deadlines.add(1000, () => rang.push(`c ${clock.now()}`));
  });
  await clock.advance(50);
  deadlines.add(1000, () => rang.push(`b ${clock.now()}`));
  await clock.advance(3000);
  assert.deepEqual(rang, ["a 1000", "b 1100", "c 2000"]);
  assert.equal(clock.waiting, 0);
});

Deno.test("Deadlines.add() starts anew when a task that was alone adds another", async () => {
  const clock = new FakeClock();
  const deadlines = new Deadlines(clock);
  const rang: number[] = [];
  deadlines.add(10, () => {
    rang.push(clock.now());
    deadlines.add(10, () => rang.push(clock.now()));
  });
  await clock.advance(100);
  assert.deepEqual(rang, [10, 20]);
  assert.equal(clock.waiting, 0);
});
