import assert from "node:assert/strict";
import { ForwardPulse } from "../../../../src/kube/forward/forward_pulse.ts";
import { FakeClock } from "../../../support/fake_clock.ts";

/** A clock that can sleep: time goes by and no timer rings. */
class SleepyClock extends FakeClock {
  #slept = 0;

  override now(): number {
    return super.now() + this.#slept;
  }

  sleep(ms: number): void {
    this.#slept += ms;
  }
}

function pulse() {
  const clock = new SleepyClock();
  const told: string[] = [];
  const made = new ForwardPulse({
    clock,
    quiet: 3000,
    patience: 12_000,
    keepalive: 30_000,
    ask: () => told.push("ask"),
    onDead: (silence) => told.push(`dead after ${silence}`),
  });
  return { clock, told, pulse: made };
}

const rows = [
  { name: "asks nothing while it is heard", does: ["said", 1000, "heard", 20_000], told: [] },
  { name: "asks when nothing comes after something was said", does: ["said", 3000], told: ["ask"] },
  {
    name: "is dead when nothing comes after that either",
    does: ["said", 3000, 12_000],
    told: ["ask", "dead after 15000"],
  },
  { name: "lives on with any byte", does: ["said", 3000, 11_000, "heard", 12_000], told: ["ask"] },
  { name: "asks after a long silence", does: [30_000], told: ["ask"] },
  { name: "asks again when that was answered", does: [30_000, "heard", 30_000], told: ["ask", "ask"] },
  { name: "asks at once when it is told to", does: ["check"], told: ["ask"] },
  {
    name: "counts the patience from the question, not from what was said",
    does: ["said", 2000, "check", 11_000],
    told: ["ask"],
  },
  { name: "judges nothing while nobody listens", does: ["deaf", "said", 600_000], told: [] },
  {
    name: "judges again when somebody does",
    does: ["deaf", "said", 600_000, "listen", 3000, 12_000],
    told: ["ask", "dead after 615000"],
  },
  {
    name: "asks again after a sleep in which an answer may have been missed",
    does: ["said", 3000, "sleep", 12_000],
    told: ["ask", "ask"],
  },
  { name: "says nothing when it is over", does: ["said", "dispose", 600_000], told: [] },
] as const;
for (const { name, does, told: expected } of rows) {
  Deno.test(`ForwardPulse ${name}`, async () => {
    const { clock, told, pulse: tried } = pulse();
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

Deno.test("ForwardPulse is in doubt after a question that takes long, and after one that had a reason", async () => {
  const { clock, pulse: tried } = pulse();
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
