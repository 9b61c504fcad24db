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

/** The state of an instance, and the one queue of the work that changes its plan: opening, reloads, giving up rights. */
export class Lifecycle {
  #state: LifecycleState = "starting";
  /** Settles when the last work of the queue has ended; it never fails. */
  #last: Promise<unknown> = Promise.resolve();
  /** The reloads that have not begun, by what asked for them. */
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

  /** Opens. What is asked for meanwhile comes after it. */
  open(work: () => Promise<void>): Promise<void> {
    return this.inTurn(async () => {
      this.demandStays();
      await work();
      this.demandStays();
      this.#state = "ready";
    });
  }

  /** Reloads in its turn. Several calls for the same `source` share one reload until it begins. */
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

  /** Runs `work` when everything before it has ended, and nothing else beside it. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    // The caller gets the failure; the next work only waits.
    this.#last = done.catch(() => {});
    return done;
  }

  /** Begins to leave: no reload begins any more, and one that runs must not open anything. */
  drain(): void {
    if (this.#state !== "closed") this.#state = "draining";
  }

  close(): void {
    this.#state = "closed";
  }

  /** Fails once the instance is leaving. */
  demandStays(): void {
    if (this.isLeaving) throw leaving();
  }
}

/** The answer to a reload of an instance that is leaving: as good as if there were none. */
export function leaving(cause?: unknown): PosternError {
  return new PosternError("refused", "Cannot reload: the instance is closing", {
    cause,
    exit: 3,
    detail: "closing",
    hint: "start one with: postern proxy",
  });
}

function notOpen(): PosternError {
  return new PosternError("cancelled", "Cannot reload: the instance is starting", { detail: "starting" });
}
