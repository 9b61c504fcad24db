import assert from "node:assert/strict";
import { Tasks } from "../../../src/core/mod.ts";
import { settle } from "../../support/fake_clock.ts";

function tasksOf(signal?: AbortSignal) {
  const errors: unknown[] = [];
  return { errors, tasks: new Tasks(signal, (error) => errors.push(error)) };
}

const untilAborted = (signal: AbortSignal) =>
  new Promise<void>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

Deno.test("Tasks aborts its tasks at disposal and waits for the last one", async () => {
  const { tasks, errors } = tasksOf();
  const gate = Promise.withResolvers<void>();
  let isDone = false;
  tasks.spawn(async (signal) => {
    await untilAborted(signal).catch(() => {});
    await gate.promise;
    isDone = true;
  });
  assert.equal(tasks.size, 1);
  const ended = tasks[Symbol.asyncDispose]();
  await settle();
  assert.equal(isDone, false);
  gate.resolve();
  await ended;
  assert.equal(isDone, true);
  assert.equal(tasks.size, 0);
  assert.deepEqual(errors, []);
});

Deno.test("Tasks reports a failure, but not the signal's own reason", async () => {
  const { tasks, errors } = tasksOf();
  tasks.spawn(() => Promise.reject(new Error("boom")));
  tasks.spawn(untilAborted);
  tasks.spawn(async (signal) => {
    await untilAborted(signal).catch(() => {});
    throw new Error("while ending");
  });
  await settle();
  assert.deepEqual(errors.map(String), ["Error: boom"]);
  tasks.abort(new Error("enough"));
  await tasks.idle();
  assert.deepEqual(errors.map(String), ["Error: boom", "Error: while ending"]);
});

Deno.test("Tasks reports a task that throws synchronously", async () => {
  const { tasks, errors } = tasksOf();
  tasks.spawn(() => {
    throw new Error("at once");
  });
  await tasks.idle();
  assert.deepEqual(errors.map(String), ["Error: at once"]);
  assert.equal(tasks.size, 0);
});

Deno.test("Tasks.idle() stops no task and waits for those spawned meanwhile", async () => {
  const { tasks } = tasksOf();
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  tasks.spawn(async () => {
    await first.promise;
    tasks.spawn(() => second.promise);
  });
  let isIdle = false;
  const idle = tasks.idle().then(() => isIdle = true);
  first.resolve();
  await settle();
  assert.equal(isIdle, false);
  assert.equal(tasks.signal.aborted, false);
  second.resolve();
  await idle;
});

Deno.test("Tasks ends with the outer signal, and removes its listener at disposal", async () => {
  const outer = new AbortController();
  const { tasks, errors } = tasksOf(outer.signal);
  tasks.spawn(untilAborted);
  outer.abort(new Error("outer"));
  await tasks.idle();
  assert.equal(tasks.signal.reason, outer.signal.reason);
  tasks.spawn(() => Promise.reject(new Error("never started")));
  await tasks.idle();
  assert.deepEqual(errors, []);

  const other = new AbortController();
  const { tasks: gone } = tasksOf(other.signal);
  await gone[Symbol.asyncDispose]();
  const { reason } = gone.signal;
  other.abort(new Error("later"));
  assert.equal(gone.signal.reason, reason);
});

Deno.test("Tasks with an aborted signal starts nothing", async () => {
  const { tasks } = tasksOf(AbortSignal.abort(new Error("before")));
  let hasRun = false;
  tasks.spawn(() => Promise.resolve(void (hasRun = true)));
  await tasks.idle();
  assert.equal(hasRun, false);
});
