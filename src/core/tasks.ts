/** A set of running tasks. Disposing aborts them all and waits for the last one. */
export class Tasks implements AsyncDisposable {
  readonly #running = new Set<Promise<void>>();
  readonly #controller = new AbortController();
  readonly #onError: (error: unknown) => void;
  readonly #outer: AbortSignal | undefined;
  readonly #pass = () => this.#controller.abort(this.#outer?.reason);

  /** A task that fails, other than because of the signal, is told to `onError`. */
  constructor(signal: AbortSignal | undefined, onError: (error: unknown) => void) {
    this.#outer = signal;
    this.#onError = onError;
    if (signal?.aborted) this.#pass();
    else signal?.addEventListener("abort", this.#pass, { once: true });
  }

  /** How many run now. */
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

  /** Waits until none is running, without stopping any. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#outer?.removeEventListener("abort", this.#pass);
    this.#controller.abort(over);
    await this.idle();
  }
}

/** One for all: to make an error for each of many short sets is most of what their end costs. */
const over = new DOMException("The tasks are over", "AbortError");
