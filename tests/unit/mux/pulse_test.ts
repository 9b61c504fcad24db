import assert from "node:assert/strict";
import { Pulse, type PulseTimes } from "../../../src/mux/mod.ts";
import { pulseTimes, usualForwardLimits } from "../../../src/kube/forward/forward_limits.ts";
import { FakeClock } from "../../support/fake_clock.ts";

/** The times of an ssh session. */
const sessionTimes = (deadAfter: number): PulseTimes => ({
  keepalive: 3000,
  patience: Math.max(deadAfter - 3000, 1500),
  deadAfter,
  beat: 1500,
});

function pulse(): { clock: FakeClock; pulse: Pulse; asked: () => number; dead: number[] } {
  const clock = new FakeClock();
  let asked = 0;
  const dead: number[] = [];
  const made = new Pulse({
    clock,
    ...sessionTimes(6000),
    ask: () => asked++,
    onDead: (silence) => dead.push(silence),
  });
  made.check();
  return { clock, pulse: made, asked: () => asked, dead };
}

Deno.test("Pulse sends a keepalive at the start if requested, and after each silence", async () => {
  const { clock, pulse: it, asked, dead } = pulse();
  assert.equal(asked(), 1);
  await clock.advance(40);
  it.onHeard();
  await clock.advance(2900);
  for (let round = 2; round < 6; round++) {
    assert.equal(asked(), round - 1);
    await clock.advance(60);
    assert.equal(asked(), round);
    await clock.advance(60);
    it.onHeard();
    await clock.advance(2880);
  }
  assert.deepEqual(dead, []);
  it[Symbol.dispose]();
  assert.equal(clock.waiting, 0);
});

Deno.test("Pulse counts from the last byte, and sends no keepalive to an active peer", async () => {
  const { clock, pulse: it, asked, dead } = pulse();
  it.onHeard();
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

Deno.test("Pulse accepts any byte as an answer", async () => {
  const { clock, pulse: it, dead } = pulse();
  await clock.advance(3500);
  it.onHeard();
  await clock.advance(5000);
  assert.deepEqual(dead, []);
  await clock.advance(1000);
  assert.deepEqual(dead, [6000]);
});

Deno.test("Pulse.check() sends a keepalive immediately, and grants the usual time after a long silence", async () => {
  const { clock, pulse: it, asked, dead } = pulse();
  it.onHeard();
  await clock.advance(2900);
  it.check();
  assert.equal(asked(), 2);
  await clock.advance(3000);
  assert.deepEqual(dead, []);
  await clock.advance(100);
  assert.deepEqual(dead, [6000]);
});

Deno.test("Pulse repeats a keepalive after a suspension, and grants its answer the usual time", async () => {
  const { clock, pulse: it, asked, dead } = pulse();
  it.onHeard();
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
  // A busy process must not wait forever for a dead peer.
  await clock.skip(5000);
  assert.equal(dead.length, 1);
  it[Symbol.dispose]();
});

Deno.test("Pulse aligns its keepalives with other sessions, and never sends one later", async () => {
  const clock = new FakeClock();
  const asked: number[][] = [];
  const all = [0, 1, 2].map((which): Pulse => {
    const times: number[] = asked[which] = [];
    const it: Pulse = new Pulse({
      clock,
      ...sessionTimes(6000),
      ask: () => {
        times.push(clock.now());
        it.onHeard();
      },
      onDead: () => assert.fail("no peer is dead"),
    });
    return it;
  });
  for (const it of all) {
    await clock.advance(700);
    it.check();
  }
  await clock.advance(30_000);
  const moments = new Set(asked.flatMap((times) => times.filter((time) => time > 6000)));
  assert.ok(moments.size <= 2 * 9, `${[...moments]}`);
  for (const times of asked) {
    for (let at = 1; at < times.length; at++) assert.ok((times[at] ?? 0) - (times[at - 1] ?? 0) <= 3000);
  }
  for (const it of all) it[Symbol.dispose]();
});

Deno.test("Pulse sends as many keepalives when a server has long to answer", async () => {
  const clock = new FakeClock();
  let asked = 0;
  const dead: number[] = [];
  using it: Pulse = new Pulse({
    clock,
    ...sessionTimes(30_000),
    ask: () => {
      asked++;
      if (asked > 4) return;
      it.onHeard();
    },
    onDead: (silence) => dead.push(silence),
  });
  it.check();
  await clock.advance(9000);
  assert.equal(asked, 4);
  await clock.advance(29_999);
  assert.deepEqual(dead, []);
  await clock.advance(6001);
  assert.deepEqual(dead.length, 1);
});

/** A clock that can sleep: time passes and no timer fires. */
class SleepyClock extends FakeClock {
  #slept = 0;

  override now(): number {
    return super.now() + this.#slept;
  }

  sleep(ms: number): void {
    this.#slept += ms;
  }
}

function forwardPulse() {
  const clock = new SleepyClock();
  const told: string[] = [];
  const made = new Pulse({
    clock,
    ...pulseTimes(usualForwardLimits),
    ask: () => told.push("ask"),
    onDead: (silence) => told.push(`dead after ${silence}`),
  });
  made.start();
  return { clock, told, pulse: made };
}

const rows = [
  { name: "sends nothing while data arrives", does: ["said", 1000, "heard", 20_000], told: [] },
  { name: "sends a keepalive when there is no answer", does: ["said", 3000], told: ["ask"] },
  {
    name: "is dead without an answer to the keepalive",
    does: ["said", 3000, 12_000],
    told: ["ask", "dead after 15000"],
  },
  { name: "accepts any byte as an answer", does: ["said", 3000, 11_000, "heard", 12_000], told: ["ask"] },
  { name: "sends a keepalive after a long silence", does: [30_000], told: ["ask"] },
  { name: "sends another after an answer", does: [30_000, "heard", 30_000], told: ["ask", "ask"] },
  { name: "sends a keepalive immediately on check", does: ["check"], told: ["ask"] },
  {
    name: "counts the patience from the keepalive, not from the data",
    does: ["said", 2000, "check", 11_000],
    told: ["ask"],
  },
  { name: "never reports a dead peer while deaf", does: ["deaf", "said", 600_000], told: [] },
  {
    name: "reports a dead peer after it was deaf",
    does: ["deaf", "said", 600_000, "listen", 3000, 12_000],
    told: ["ask", "dead after 615000"],
  },
  {
    name: "repeats the keepalive after a sleep",
    does: ["said", 3000, "sleep", 12_000],
    told: ["ask", "ask"],
  },
  {
    name: "repeats the keepalive after every sleep, until data arrives",
    does: ["said", 3000, "sleep", 12_000, "sleep", 12_000, 12_000],
    told: ["ask", "ask", "ask", "dead after 1239000"],
  },
  { name: "does nothing after its disposal", does: ["said", "dispose", 600_000], told: [] },
] as const;
for (const { name, does, told: expected } of rows) {
  Deno.test(`Pulse of a port-forward ${name}`, async () => {
    const { clock, told, pulse: tried } = forwardPulse();
    using _end = tried;
    for (const step of does) {
      if (typeof step === "number") await clock.advance(step);
      else if (step === "said") tried.onSaid();
      else if (step === "heard") tried.onHeard();
      else if (step === "check") tried.check();
      else if (step === "sleep") clock.sleep(600_000);
      else if (step === "dispose") tried[Symbol.dispose]();
      else tried.deaf(step === "deaf");
    }
    assert.deepEqual(told, expected);
  });
}

Deno.test("Pulse is in doubt after a slow answer, and after a requested check", async () => {
  const { clock, pulse: tried } = forwardPulse();
  using _end = tried;
  tried.onSaid();
  await clock.advance(3000);
  assert.equal(tried.isInDoubt, false);
  await clock.advance(1001);
  assert.equal(tried.isInDoubt, true);
  tried.onHeard();
  assert.equal(tried.isInDoubt, false);
  tried.check();
  assert.equal(tried.isInDoubt, true);
  tried.onHeard();
  assert.equal(tried.isInDoubt, false);
});
