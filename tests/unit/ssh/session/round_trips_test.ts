import assert from "node:assert/strict";
import { RoundTrips } from "../../../../src/ssh/session/round_trips.ts";
import { FakeClock } from "../../../support/fake_clock.ts";

Deno.test("RoundTrips keeps the last and the shortest round trip", async () => {
  const clock = new FakeClock();
  const it = new RoundTrips(clock);
  for (const ms of [40, 60]) {
    it.onAsked();
    await clock.advance(ms);
    it.onAnswer();
  }
  assert.deepEqual([it.last, it.shortest], [60, 40]);
});

Deno.test("RoundTrips matches answers to keepalives in order", async () => {
  const clock = new FakeClock();
  const it = new RoundTrips(clock);
  it.onAsked();
  await clock.advance(30);
  it.onAsked();
  await clock.advance(10);
  assert.equal(it.waiting, 40);
  it.onAnswer();
  assert.deepEqual([it.last, it.waiting, it.hasAnsweredSince(0), it.hasAnsweredSince(30)], [
    40,
    10,
    true,
    false,
  ]);
  it.onAnswer();
  assert.deepEqual([it.last, it.waiting, it.hasAnsweredSince(30)], [10, 0, true]);
  it.onAnswer();
  assert.equal(it.last, 10);
});

Deno.test("RoundTrips limits the unanswered keepalives that it remembers", async () => {
  const clock = new FakeClock();
  const it = new RoundTrips(clock);
  for (let asked = 0; asked < 1000; asked++) it.onAsked();
  await clock.advance(10);
  assert.equal(it.waiting, 10);
  for (let answered = 0; answered < 64; answered++) it.onAnswer();
  assert.equal(it.waiting, 0);
});
