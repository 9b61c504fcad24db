import { setImmediate as nextTurn } from "node:timers/promises";

/** The time limit for one promise on a busy machine, in ms. */
const limit = 20_000;

/** Fails if an attempt hangs, as broken promises often do. */
export async function inTime(attempt: Promise<void>): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`the attempt hangs: not done within ${limit} ms`)), limit);
  try {
    await Promise.race([attempt, promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Far more turns of the event loop than a kept promise needs in memory. */
const patience = 400;

/**
 * Whether an attempt succeeds. An attempt that hangs counts as broken: `drop` then ends it, and this function
 * waits for it, so that it does not outlive the test.
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
