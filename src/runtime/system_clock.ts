import { type Clock, leastStall } from "../core/mod.ts";

/** The machine's time. A timer that waits keeps the process alive, so whoever no longer needs one disposes it. */
export const systemClock: Clock = {
  now: () => performance.now(),
  date: () => new Date(),
  after(ms, task) {
    const due = performance.now() + ms;
    let timer = setTimeout(() => {
      if (performance.now() - due <= leastStall) return task();
      // After a time in which the process stood still, what came meanwhile is read first.
      timer = setTimeout(task, moment);
    }, ms);
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
  async turn() {
    const { setImmediate } = timers ??= await import("node:timers");
    await new Promise<void>((resolve) => void setImmediate(resolve));
  },
};

/** Loaded by the first who waits for the end of a turn. */
let timers: typeof import("node:timers") | undefined;

/** Long enough, in ms, for some turns of the event loop. */
const moment = 50;
