import { whenAborted } from "./when_aborted.ts";

/** Runs one piece of work at a time, in order. */
export class Turns {
  #last: Promise<void> = Promise.resolve();

  /** Runs `work` after all earlier work; skips it if the signal aborts first. */
  async take<T>(work: () => Promise<T>, { signal }: { readonly signal: AbortSignal }): Promise<T> {
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    try {
      await unlessAborted(before, signal);
      return await work();
    } finally {
      // The next one still waits for the work that runs now.
      before.then(resolve);
    }
  }
}

/** Waits for work that cannot be stopped; rejects early when the signal aborts. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const ear = whenAborted(signal, () => reject(signal.reason));
  work.then(resolve, reject).finally(() => ear[Symbol.dispose]());
  return promise;
}
