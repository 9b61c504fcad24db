import assert from "node:assert/strict";
import { SshPulse } from "../../../../src/ssh/session/ssh_pulse.ts";
import { FakeClock } from "../../../support/fake_clock.ts";

function pulse(): { clock: FakeClock; pulse: SshPulse; asked: () => number; dead: number[] } {
  const clock = new FakeClock();
  let asked = 0;
  const dead: number[] = [];
  const made = new SshPulse({
    clock,
    keepalive: 3000,
    deadAfter: 6000,
    ask: () => asked++,
    onDead: (silence) => dead.push(silence),
  });
  made.start();
  return { clock, pulse: made, asked: () => asked, dead };
}

Deno.test("SshPulse measures the way at the start, and asks after each silence", async () => {
  const { clock, pulse: it, asked, dead } = pulse();
  assert.equal(asked(), 1);
  await clock.advance(40);
  it.onHeard();
  it.onAnswer();
  assert.deepEqual([it.lastRoundTrip, it.shortestRoundTrip], [40, 40]);
  await clock.advance(2900);
  for (let round = 2; round < 6; round++) {
    assert.equal(asked(), round - 1);
    await clock.advance(60);
    assert.equal(asked(), round);
    await clock.advance(60);
    it.onHeard();
    it.onAnswer();
    await clock.advance(2880);
  }
  assert.deepEqual([it.lastRoundTrip, it.shortestRoundTrip], [60, 40]);
  assert.deepEqual(dead, []);
  it[Symbol.dispose]();
  assert.equal(clock.waiting, 0);
});

Deno.test("SshPulse counts from the last byte heard, and asks nothing of who speaks", async () => {
  const { clock, pulse: it, asked, dead } = pulse();
  it.onHeard();
  it.onAnswer();
  for (let at = 0; at < 20; at++) {
    await clock.advance(1000);
    it.onHeard();
  }
  assert.equal(asked(), 1);
  await clock.advance(5999);
  assert.deepEqual(dead, []);
  assert.equal(asked(), 2);
  await clock.advance(1);
  assert.deepEqual(dead, [6000]);
});

Deno.test("SshPulse lets any byte stand for an answer", async () => {
  const { clock, pulse: it, dead } = pulse();
  await clock.advance(3500);
  it.onHeard();
  await clock.advance(5000);
  assert.deepEqual(dead, []);
  await clock.advance(1000);
  assert.deepEqual(dead, [6000]);
});

Deno.test("SshPulse asks at once when told to, and gives the answer its time although the silence is long", async () => {
  const { clock, pulse: it, asked, dead } = pulse();
  it.onHeard();
  it.onAnswer();
  await clock.advance(2900);
  it.check();
  assert.equal(asked(), 2);
  await clock.advance(3000);
  assert.deepEqual(dead, []);
  await clock.advance(100);
  assert.deepEqual(dead, [6000]);
});

Deno.test("SshPulse asks once more after a standstill in which an answer was due, and gives it its time", async () => {
  const { clock, pulse: it, asked, dead } = pulse();
  it.onHeard();
  it.onAnswer();
  await clock.advance(3500);
  assert.equal(asked(), 2);
  await clock.skip(60_000);
  assert.deepEqual([asked(), dead], [3, []]);
  await clock.advance(2000);
  it.onHeard();
  await clock.advance(3500);
  assert.equal(asked(), 4);
  await clock.skip(60_000);
  assert.deepEqual([asked(), dead], [5, []]);
  // Who is behind a program that has no time for it must not be waited for without an end.
  await clock.skip(5000);
  assert.equal(dead.length, 1);
  it[Symbol.dispose]();
});

Deno.test("SshPulse asks together with others that began at another time, and never later than it would alone", async () => {
  const clock = new FakeClock();
  const asked: number[][] = [];
  const all = [0, 1, 2].map((which): SshPulse => {
    const times: number[] = asked[which] = [];
    const it: SshPulse = new SshPulse({
      clock,
      keepalive: 3000,
      deadAfter: 6000,
      ask: () => {
        times.push(clock.now());
        it.onHeard();
        it.onAnswer();
      },
      onDead: () => assert.fail("nothing is dead"),
    });
    return it;
  });
  for (const it of all) {
    await clock.advance(700);
    it.start();
  }
  await clock.advance(30_000);
  const moments = new Set(asked.flatMap((times) => times.filter((time) => time > 6000)));
  assert.ok(moments.size <= 2 * 9, `${[...moments]}`);
  for (const times of asked) {
    for (let at = 1; at < times.length; at++) assert.ok((times[at] ?? 0) - (times[at - 1] ?? 0) <= 3000);
  }
  for (const it of all) it[Symbol.dispose]();
});

Deno.test("SshPulse asks as often where a server is given long to answer", async () => {
  const clock = new FakeClock();
  let asked = 0;
  const dead: number[] = [];
  using it: SshPulse = new SshPulse({
    clock,
    keepalive: 3000,
    deadAfter: 30_000,
    ask: () => {
      asked++;
      if (asked > 4) return;
      it.onHeard();
      it.onAnswer();
    },
    onDead: (silence) => dead.push(silence),
  });
  it.start();
  await clock.advance(9000);
  assert.equal(asked, 4);
  await clock.advance(29_999);
  assert.deepEqual(dead, []);
  await clock.advance(6001);
  assert.deepEqual(dead.length, 1);
});
