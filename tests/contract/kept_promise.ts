import { setImmediate as nextTurn } from "node:timers/promises";

/** How long, in ms, one promise may take on a busy machine. */
const limit = 20_000;

/** Fails where an attempt hangs, as a broken promise often does. */
export async function inTime(attempt: Promise<void>): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`it hangs: not done within ${limit} ms`)), limit);
  try {
    await Promise.race([attempt, promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Far more turns of the event loop than a promise takes that is kept in memory. */
const patience = 400;

/**
 * Whether an attempt comes to a good end. One that only waits counts as broken; `drop` then ends it, and it is waited
 * for, so that nothing of it outlives the test.
 */
export async function isKept(attempt: Promise<void>, drop: () => Promise<void>): Promise<boolean> {
  let outcome: boolean | undefined;
  const ended = attempt.then(() => outcome ??= true, () => outcome ??= false);
  for (let turn = 0; turn < patience && outcome === undefined; turn++) await nextTurn();
  outcome ??= false;
  await drop();
  await ended;
  return outcome;
}
