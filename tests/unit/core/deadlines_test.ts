import assert from "node:assert/strict";
import { Deadlines, limitTime } from "../../../src/core/mod.ts";
import { FakeClock } from "../../support/fake_clock.ts";

Deno.test("Deadlines.add() keeps the next deadline on time when a task adds another", async () => {
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

Deno.test("Deadlines.add() starts a new timer when the only task adds another", async () => {
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

Deno.test("Deadlines.add() runs slightly late tasks immediately, in order", async () => {
  const clock = new FakeClock();
  const deadlines = new Deadlines(clock);
  const rang: string[] = [];
  for (const name of ["a", "b"]) deadlines.add(1000, () => rang.push(name));
  await clock.advance(950);
  await clock.skip(250);
  assert.deepEqual(rang, ["a", "b"]);
  assert.equal(clock.waiting, 0);
});

Deno.test("Deadlines.add() does not count time in which the process was suspended", async () => {
  const clock = new FakeClock();
  const deadlines = new Deadlines(clock);
  const rang: string[] = [];
  const note = (name: string) => () => void rang.push(`${name} ${clock.now() - 3_600_000}`);
  deadlines.add(10_000, note("first"));
  await clock.advance(3000);
  deadlines.add(10_000, note("second"));
  await clock.skip(3_600_000);
  assert.deepEqual(rang, []);
  deadlines.add(10_000, note("after"));
  await clock.advance(30_000);
  // A tenth is lost: the suspension may have begun just after the last timer.
  assert.deepEqual(rang, ["first 9000", "second 12000", "after 13000"]);
  assert.equal(clock.waiting, 0);
});

Deno.test("Deadlines.add() grants a nearly due task a tenth after a sleep, and runs it after another", async () => {
  const clock = new FakeClock();
  const deadlines = new Deadlines(clock);
  let isOver = false;
  deadlines.add(10_000, () => isOver = true);
  await clock.advance(9500);
  await clock.skip(60_000);
  assert.equal(isOver, false);
  await clock.advance(999);
  assert.equal(isOver, false);
  await clock.skip(60_000);
  assert.equal(isOver, true);
});

Deno.test("Deadlines.add() runs its tasks even when every timer is late", async () => {
  const clock = new FakeClock();
  const deadlines = new Deadlines(clock);
  let isOver = false;
  deadlines.add(10_000, () => isOver = true);
  for (let rings = 0; !isOver; rings++) {
    assert.ok(rings < 12);
    await clock.skip(2000);
  }
});

Deno.test("Deadlines.add() extends a deadline only once, even in a busy process", async () => {
  const clock = new FakeClock();
  const deadlines = new Deadlines(clock);
  let isOver = false;
  deadlines.add(1000, () => isOver = true);
  await clock.skip(1000);
  assert.equal(isOver, false);
  await clock.skip(1000);
  assert.equal(isOver, true);
});

Deno.test("limitTime() does not count a sleep, runs its task once, and never after disposal", async () => {
  const clock = new FakeClock();
  let count = 0;
  limitTime(clock, 1000, () => count++);
  limitTime(clock, 1000, () => count++)[Symbol.dispose]();
  await clock.advance(500);
  await clock.skip(5000);
  await clock.advance(399);
  assert.equal(count, 0);
  await clock.advance(1);
  assert.equal(count, 1);
  assert.equal(clock.waiting, 0);
});
