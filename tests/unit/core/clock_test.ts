import assert from "node:assert/strict";
import { pause, within } from "../../../src/core/mod.ts";
import { PosternError } from "../../../src/words/mod.ts";
import { FakeClock, settle } from "../../support/fake_clock.ts";

const never = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
const late = () => new PosternError("timeout", "Cannot wait");

Deno.test("pause() resolves after its time and leaves nothing behind", async () => {
  const clock = new FakeClock();
  const controller = new AbortController();
  let isOver = false;
  const over = pause(clock, 100, controller).then(() => isOver = true);
  await clock.advance(99);
  assert.equal(isOver, false);
  await clock.advance(1);
  await over;
  assert.equal(clock.waiting, 0);
});

Deno.test("pause() rejects with the signal's reason, before and during the wait", async () => {
  const clock = new FakeClock();
  const reason = new Error("stop");
  await assert.rejects(pause(clock, 100, { signal: AbortSignal.abort(reason) }), reason);
  const controller = new AbortController();
  const paused = pause(clock, 100, controller);
  controller.abort(reason);
  await assert.rejects(paused, reason);
  assert.equal(clock.waiting, 0);
});

Deno.test("pause() ends early when `until` settles, and leaves nothing behind", async () => {
  const clock = new FakeClock();
  const { signal } = new AbortController();
  for (const settle of ["resolve", "reject"] as const) {
    const { promise: until, ...settling } = Promise.withResolvers<void>();
    const paused = pause(clock, 100, { signal, until });
    assert.equal(clock.waiting, 1);
    settling[settle]();
    await paused;
    assert.equal(clock.waiting, 0);
  }
});

Deno.test("within() returns the result of the work and leaves nothing behind", async () => {
  const clock = new FakeClock();
  const { signal } = new AbortController();
  assert.equal(await within({ clock, ms: 10, signal, error: late }, () => Promise.resolve(7)), 7);
  assert.equal(clock.waiting, 0);
});

Deno.test("within() aborts the work with its error after the timeout", async () => {
  const clock = new FakeClock();
  const { signal } = new AbortController();
  const failed = assert.rejects(within({ clock, ms: 10, signal, error: late }, never), { code: "timeout" });
  await clock.advance(10);
  await failed;
  assert.equal(signal.aborted, false);
});

Deno.test("within() passes on the signal's reason and the work's own failure unchanged", async () => {
  const clock = new FakeClock();
  const controller = new AbortController();
  const reason = new Error("stop");
  const options = { clock, ms: 10, signal: controller.signal, error: late };
  const stopped = assert.rejects(within(options, never), reason);
  await settle();
  controller.abort(reason);
  await stopped;
  await assert.rejects(
    within({ ...options, signal: new AbortController().signal }, () => Promise.reject(reason)),
    reason,
  );
  assert.equal(clock.waiting, 0);
});

Deno.test("within() with an aborted signal gives the work that signal", async () => {
  const reason = new Error("before");
  const signal = AbortSignal.abort(reason);
  const work = (signal: AbortSignal) => Promise.resolve(signal.reason);
  assert.equal(await within({ clock: new FakeClock(), ms: 10, signal, error: late }, work), reason);
});
