import { type Clock, leastStall } from "../core/mod.ts";

/** The machine's time. A timer that waits keeps the process alive, so whoever no longer needs one disposes it. */
export const systemClock: Clock = {
  now: () => performance.now(),
  date: () => new Date(),
  after(ms, task) {
    const due = performance.now() + ms;
    const ring = () => {
      const late = performance.now() - due;
      if (ms > longest && late < 0) timer = setTimeout(ring, Math.min(-late, longest));
      else if (late <= leastStall) task();
      // After a time in which the process stood still, what came meanwhile is read first.
      else timer = setTimeout(task, moment);
    };
    let timer = setTimeout(ring, Math.min(ms, longest));
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
  async turn() {
    const { setImmediate } = timers ??= await import("node:timers");
    await new Promise<void>((resolve) => void setImmediate(resolve));
  },
};

/** Loaded by the first who waits for the end of a turn. */
let timers: typeof import("node:timers") | undefined;

/** What a timer of the system holds, in ms: a longer one would ring at once. */
const longest = 2 ** 31 - 1;
/** Long enough, in ms, for some turns of the event loop. */
const moment = 50;
