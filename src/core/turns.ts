import { whenAborted } from "./when_aborted.ts";

/** Lets one piece of work run at a time, in the order in which they came. */
export class Turns {
  #last: Promise<void> = Promise.resolve();

  /** Runs `work` once all before it is done; who gives up while it waits is passed over. */
  async take<T>(work: () => Promise<T>, { signal }: { readonly signal: AbortSignal }): Promise<T> {
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    try {
      await unlessAborted(before, signal);
      return await work();
    } finally {
      // Who gives up lets nobody in before the one at work.
      before.then(resolve);
    }
  }
}

/** Waits for what cannot be stopped, until it is done or the signal says so. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const ear = whenAborted(signal, () => reject(signal.reason));
  work.then(resolve, reject).finally(() => ear[Symbol.dispose]());
  return promise;
}
