import type { Clock } from "../core/mod.ts";

/** The machine's time. A timer that waits keeps the process alive, so whoever no longer needs one disposes it. */
export const systemClock: Clock = {
  now: () => performance.now(),
  date: () => new Date(),
  after(ms, task) {
    const timer = setTimeout(task, ms);
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
};
