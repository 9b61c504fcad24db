import { type Clock, leastStall } from "../core/mod.ts";

/**
 * The system's clock. A pending timer keeps the process alive, so dispose timers that are no longer needed.
 */
export const systemClock: Clock = {
  now: () => performance.now(),
  date: () => new Date(),
  after(ms, task) {
    const due = performance.now() + ms;
    const ring = () => {
      const late = performance.now() - due;
      if (ms > longest && late < 0) timer = setTimeout(ring, Math.min(-late, longest));
      else if (late <= leastStall) task();
      // After a suspension of the process, pending I/O comes first.
      else timer = setTimeout(task, moment);
    };
    let timer = setTimeout(ring, Math.min(ms, longest));
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
  // `setTimeout` loads node's timers and their error messages.
  signalAfter: (ms) => AbortSignal.timeout(Math.min(ms, longest)),
  async turn() {
    const { setImmediate } = timers ??= await import("node:timers");
    await new Promise<void>((resolve) => void setImmediate(resolve));
  },
};

/** Loaded by the first call of `turn`. */
let timers: typeof import("node:timers") | undefined;

/** The longest timer of the system, in ms: a longer one would fire immediately. */
const longest = 2 ** 31 - 1;
/** Long enough, in ms, for several turns of the event loop. */
const moment = 50;
