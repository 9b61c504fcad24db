/** Calls `task` when a signal aborts, or immediately if it has aborted already; never after disposal. */
export function whenAborted(signal: AbortSignal | undefined, task: () => void): Disposable {
  if (signal?.aborted) task();
  else signal?.addEventListener("abort", task, { once: true });
  return { [Symbol.dispose]: () => signal?.removeEventListener("abort", task) };
}
