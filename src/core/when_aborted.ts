/** Calls `task` when a signal ends, at once if it has ended already; never after it was disposed. */
export function whenAborted(signal: AbortSignal | undefined, task: () => void): Disposable {
  if (signal?.aborted) task();
  else signal?.addEventListener("abort", task, { once: true });
  return { [Symbol.dispose]: () => signal?.removeEventListener("abort", task) };
}
