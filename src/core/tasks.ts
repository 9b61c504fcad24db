/** A set of running tasks. Disposing aborts them and waits for the last one. */
export class Tasks implements AsyncDisposable {
  readonly #running = new Set<Promise<void>>();
  readonly #controller = new AbortController();
  readonly #onError: (error: unknown) => void;
  readonly #outer: AbortSignal | undefined;
  readonly #pass = () => this.#controller.abort(this.#outer?.reason);

  /** Calls `onError` with a task's failure, unless it is the signal's reason. */
  constructor(signal: AbortSignal | undefined, onError: (error: unknown) => void) {
    this.#outer = signal;
    this.#onError = onError;
    if (signal?.aborted) this.#pass();
    else signal?.addEventListener("abort", this.#pass, { once: true });
  }

  get size(): number {
    return this.#running.size;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  spawn(task: (signal: AbortSignal) => Promise<void>): void {
    const { signal } = this.#controller;
    if (signal.aborted) return;
    const ended = () => void this.#running.delete(running);
    const running: Promise<void> = Promise.try(task, signal).then(ended, (error) => {
      ended();
      if (!signal.aborted || error !== signal.reason) this.#onError(error);
    });
    this.#running.add(running);
  }

  abort(reason?: unknown): void {
    this.#controller.abort(reason);
  }

  /** Waits until no task runs, without stopping any. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#outer?.removeEventListener("abort", this.#pass);
    this.#controller.abort(over);
    await this.idle();
  }
}

/** Shared: creating an error for each of many short sets is most of the cost of their end. */
const over = new DOMException("The tasks have ended", "AbortError");
