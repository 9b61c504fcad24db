import assert from "node:assert/strict";
import type { Clock } from "../../../../src/core/mod.ts";
import type { PosternError } from "../../../../src/words/mod.ts";
import { watchDirectory } from "../../../../src/runtime/files/directory_watch.ts";

/**
 * Real events arrive at their own time: this clock reports when a timer is set, and fires it only on demand.
 */
class HandClock implements Clock {
  readonly #timers = new Map<object, { ms: number; task: () => void }>();
  #told: ((ms: number) => void) | undefined;
  time = 0;

  now = () => this.time;
  date = () => new Date(0);
  turn = () => Promise.resolve();

  signalAfter(): AbortSignal {
    return new AbortController().signal;
  }

  after(ms: number, task: () => void): Disposable {
    const key = {};
    this.#timers.set(key, { ms, task });
    this.#told?.(ms);
    return { [Symbol.dispose]: () => void this.#timers.delete(key) };
  }

  get waiting(): number {
    return this.#timers.size;
  }

  /** Waits until a timer of this length is set. */
  async set(ms: number): Promise<void> {
    if ([...this.#timers.values()].some((timer) => timer.ms === ms)) return;
    await new Promise<void>((resolve) => this.#told = (told) => told === ms && resolve());
  }

  ring(): void {
    const timers = [...this.#timers.values()];
    this.#timers.clear();
    for (const { task } of timers) task();
  }
}

async function inDirectory(body: (directory: string) => Promise<void>): Promise<void> {
  const outer = await Deno.makeTempDir();
  await Deno.mkdir(`${outer}/watched`);
  try {
    await body(`${outer}/watched`);
  } finally {
    await Deno.remove(outer, { recursive: true });
  }
}

Deno.test("watchDirectory() reports constant changes after two seconds", () =>
  inDirectory(async (directory) => {
    const clock = new HandClock();
    let changes = 0;
    using _watch = watchDirectory(directory, () => changes++, clock);
    await Deno.writeTextFile(`${directory}/a`, "text");
    await clock.set(200);
    clock.time = 1900;
    await Deno.writeTextFile(`${directory}/b`, "text");
    await clock.set(100);
    clock.ring();
    assert.equal(changes, 1);
  }));

Deno.test("watchDirectory() reports many events once, after the quiet time", () =>
  inDirectory(async (directory) => {
    const clock = new HandClock();
    let changes = 0;
    using _watch = watchDirectory(directory, () => changes++, clock);
    await Deno.writeTextFile(`${directory}/new`, "text");
    await Deno.rename(`${directory}/new`, `${directory}/config.yaml`);
    await clock.set(200);
    assert.equal(changes, 0);
    assert.equal(clock.waiting, 1);
    clock.ring();
    assert.equal(changes, 1);
  }));

Deno.test("watchDirectory() follows a directory that is replaced", () =>
  inDirectory(async (directory) => {
    const clock = new HandClock();
    let changes = 0;
    const { promise: first, resolve } = Promise.withResolvers<void>();
    const changed = () => {
      changes++;
      resolve();
    };
    using _watch = watchDirectory(directory, changed, clock);
    await Deno.mkdir(`${directory}-next`);
    await Deno.rename(directory, `${directory}-former`);
    await Deno.rename(`${directory}-next`, directory);
    await clock.set(200);
    clock.ring();
    await first;
    assert.equal(changes, 1);
    await Deno.writeTextFile(`${directory}/config.yaml`, "text");
    await clock.set(200);
    clock.ring();
    assert.equal(changes, 2);
  }));

Deno.test("watchDirectory() waits for a missing directory", () =>
  inDirectory(async (directory) => {
    const clock = new HandClock();
    let changes = 0;
    using _watch = watchDirectory(`${directory}/later`, () => changes++, clock);
    await clock.set(1000);
    clock.ring();
    assert.equal(changes, 0);
    await Deno.mkdir(`${directory}/later`);
    clock.ring();
    assert.equal(changes, 1);
  }));

Deno.test("watchDirectory() leaves nothing behind once disposed", () =>
  inDirectory(async (directory) => {
    const clock = new HandClock();
    let changes = 0;
    const watch = watchDirectory(directory, () => changes++, clock);
    await Deno.writeTextFile(`${directory}/a`, "");
    await clock.set(200);
    watch[Symbol.dispose]();
    watch[Symbol.dispose]();
    assert.equal(clock.waiting, 0);
    clock.ring();
    assert.equal(changes, 0);
  }));

Deno.test({
  name: "watchDirectory() names the missing flag",
  permissions: { read: false },
  fn() {
    assert.throws(
      () => watchDirectory("anywhere", () => {}, new HandClock()),
      (error: PosternError) => error.code === "not_allowed" && /--allow-read/.test(error.message),
    );
  },
});
