import { backoff, type Clock, Tasks } from "../../core/mod.ts";
import { isPosternError } from "../../words/mod.ts";

export interface WorkQueueOptions {
  readonly clock: Clock;
  /** From 0 to less than 1. */
  readonly random: () => number;
  /** The maximum number of keys in work at once. */
  readonly most: number;
  /** Processes one key. A failure or "again" retries it after a growing delay. */
  readonly work: (key: string, options: { readonly signal: AbortSignal }) => Promise<Outcome>;
  readonly onError: (key: string, error: unknown) => void;
}

export type Outcome = "done" | "again";

/** Delays before the next attempt, in ms. */
const failurePauses = { first: 250, most: 60_000 };
const outagePauses = { first: 250, most: 10_000 };
/** A starting API server rejects writes briefly, a missing permission lasts. */
const refusalPauses = { first: 1_000, most: 300_000, factor: 4 };

/** A queue of keys: each key is queued once and never processed twice at the same time. */
export class WorkQueue implements AsyncDisposable {
  readonly #options: WorkQueueOptions;
  readonly #tasks: Tasks;
  readonly #ready = new Set<string>();
  readonly #running = new Set<string>();
  /** Keys added again during their processing. */
  readonly #again = new Set<string>();
  readonly #waiting = new Map<string, Disposable>();
  readonly #failures = new Map<string, number>();
  /** Pauses all work while the server is unreachable. */
  #outage: { readonly timer: Disposable } | undefined;
  #outages = 0;

  constructor(signal: AbortSignal, options: WorkQueueOptions) {
    this.#options = options;
    this.#tasks = new Tasks(signal, (error) => options.onError("", error));
  }

  /** The number of unfinished keys. */
  get size(): number {
    return this.#ready.size + this.#running.size + this.#waiting.size;
  }

  /** Queues a key; a recently failed key keeps its delay. */
  add(key: string): void {
    if (this.#running.has(key)) this.#again.add(key);
    else if (!this.#waiting.has(key)) this.#ready.add(key);
    this.#pump();
  }

  /** Queues a key without any delay: the server responds again, or there is something new to write. */
  hurry(key: string): void {
    this.#outage?.timer[Symbol.dispose]();
    this.#outage = undefined;
    this.#waiting.get(key)?.[Symbol.dispose]();
    this.#waiting.delete(key);
    this.#failures.delete(key);
    this.add(key);
  }

  remove(key: string): void {
    this.#ready.delete(key);
    this.#again.delete(key);
    this.#waiting.get(key)?.[Symbol.dispose]();
    this.#waiting.delete(key);
    this.#failures.delete(key);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#outage?.timer[Symbol.dispose]();
    for (const timer of this.#waiting.values()) timer[Symbol.dispose]();
    this.#waiting.clear();
    this.#ready.clear();
    await this.#tasks[Symbol.asyncDispose]();
  }

  #pump(): void {
    // One key tests whether the server is back; the others follow.
    const most = this.#outages > 0 ? 1 : this.#options.most;
    while (!this.#outage && this.#running.size < most && !this.#tasks.signal.aborted) {
      const [key] = this.#ready;
      if (key === undefined) return;
      this.#ready.delete(key);
      this.#running.add(key);
      this.#tasks.spawn((signal) => this.#work(key, signal));
    }
  }

  async #work(key: string, signal: AbortSignal): Promise<void> {
    try {
      const outcome = await this.#options.work(key, { signal });
      this.#outages = 0;
      if (outcome === "done") this.#failures.delete(key);
      else this.#failed(key, undefined);
    } catch (error) {
      signal.throwIfAborted();
      this.#options.onError(key, error);
      this.#failed(key, error);
    } finally {
      this.#running.delete(key);
    }
    if (this.#again.delete(key) && !this.#waiting.has(key)) this.#ready.add(key);
    this.#pump();
  }

  #failed(key: string, error: unknown): void {
    const { clock } = this.#options;
    if (isPosternError(error, "unreachable") || isPosternError(error, "timeout")) {
      this.#ready.add(key);
      if (this.#outage) return;
      const timer = clock.after(
        this.#pause(this.#outages++, outagePauses),
        () => {
          this.#outage = undefined;
          this.#pump();
        },
      );
      this.#outage = { timer };
      return;
    }
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    const terms = isPosternError(error, "not_allowed") ? refusalPauses : failurePauses;
    const timer = clock.after(this.#pause(failures, terms), () => {
      this.#waiting.delete(key);
      this.add(key);
    });
    this.#waiting.set(key, timer);
  }

  #pause(failures: number, terms: Parameters<typeof backoff>[1]): number {
    return backoff(failures, terms) * (0.5 + this.#options.random());
  }
}
