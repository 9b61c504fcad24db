import { PosternError } from "../words/mod.ts";
import type { InstancePhase, ReloadReport } from "../control/mod.ts";

/**
 * ```text
 * starting ── open() ──► ready ◄── reload() ──► reloading
 *     └────────────────────┴── drain() ─────────────┴─────► draining ── close() ──► closed
 * ```
 * A reload ends in `ready` whether it succeeded or not. `close()` is allowed in every state.
 */
export type LifecycleState = "starting" | "ready" | "reloading" | "draining" | "closed";

/**
 * The state of an instance, and the queue of work that changes its plan: opening, reloading and dropping
 * rights.
 */
export class Lifecycle {
  #state: LifecycleState = "starting";
  /** Settles when the last queued work has ended; never rejects. */
  #last: Promise<unknown> = Promise.resolve();
  /** Queued reloads by their source. */
  readonly #waiting = new Map<object, Promise<ReloadReport>>();

  get state(): LifecycleState {
    return this.#state;
  }

  /** The state as the control protocol names it. */
  get phase(): InstancePhase {
    if (this.#state === "reloading") return "ready";
    return this.#state === "closed" ? "draining" : this.#state;
  }

  get isLeaving(): boolean {
    return this.#state === "draining" || this.#state === "closed";
  }

  /** Opens. Work queued meanwhile runs afterwards. */
  open(work: () => Promise<void>): Promise<void> {
    return this.inTurn(async () => {
      this.demandStays();
      await work();
      this.demandStays();
      this.#state = "ready";
    });
  }

  /** Queues a reload. Calls with the same `source` share one reload until it starts. */
  reload(work: () => Promise<ReloadReport>, source: object = work): Promise<ReloadReport> {
    const waiting = this.#waiting.get(source);
    if (waiting) return waiting;
    const done = this.inTurn(async () => {
      this.#waiting.delete(source);
      this.demandStays();
      if (this.#state === "starting") throw notOpen();
      this.#state = "reloading";
      try {
        return await work();
      } finally {
        if (!this.isLeaving) this.#state = "ready";
      }
    });
    this.#waiting.set(source, done);
    return done;
  }

  /** Runs `work` alone, after all queued work has ended. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    // The caller gets the failure; the next work only waits for the end.
    this.#last = done.catch(() => {});
    return done;
  }

  /** Starts to drain: no further reload starts, and a running one must not open anything. */
  drain(): void {
    if (this.#state !== "closed") this.#state = "draining";
  }

  close(): void {
    this.#state = "closed";
  }

  /** Throws once the instance is draining. */
  demandStays(): void {
    if (this.isLeaving) throw leaving();
  }
}

/** The error for a reload of a stopping instance; it has the exit code of "no instance". */
export function leaving(cause?: unknown): PosternError {
  return new PosternError("refused", "Cannot reload: the instance is stopping", {
    cause,
    exit: 3,
    detail: "closing",
    hint: "start it: postern proxy",
  });
}

function notOpen(): PosternError {
  return new PosternError("cancelled", "Cannot reload: the instance is starting", { detail: "starting" });
}
