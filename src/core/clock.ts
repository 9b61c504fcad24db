import { whenAborted } from "./when_aborted.ts";

/** Time, replaceable in tests. */
export interface Clock {
  /** Monotonic milliseconds. */
  now(): number;
  /** The wall-clock time. */
  date(): Date;
  /**
   * Calls `task` once after `ms`, unless disposed first. After a suspension of the process, I/O that is ready
   * comes first.
   */
  after(ms: number, task: () => void): Disposable;
  /**
   * A signal that aborts after `ms`, for a command that must start fast: the first `after` of a process takes
   * milliseconds. It cannot be disposed, and does not keep the process alive.
   */
  signalAfter(ms: number): AbortSignal;
  /** Resolves after all I/O that is ready now was handled, so that its results fit into one write. */
  turn(): Promise<void>;
}

/**
 * How late, in ms, a timer must fire to show that the process was suspended: the machine slept or was
 * overloaded, or the process was stopped. Data that arrived meanwhile is still unread, so its sender is not
 * late.
 */
export const leastStall = 250;

/** Resolves after `ms`, or when `until` settles; rejects with the signal's reason. */
export async function pause(
  clock: Clock,
  ms: number,
  { signal, until }: { readonly signal?: AbortSignal; readonly until?: Promise<unknown> },
): Promise<void> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  using _timer = clock.after(ms, resolve);
  using _stop = whenAborted(signal, () => reject(signal?.reason));
  until?.then(() => resolve(), () => resolve());
  await promise;
}

/**
 * Runs `work` with a signal that aborts with `signal`, or with `error()` after `ms`, counted as in
 * `limitTime`.
 */
export async function within<T>(
  { clock, ms, signal, error }: { clock: Clock; ms: number; signal: AbortSignal; error: () => unknown },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const own = new AbortController();
  using _pass = whenAborted(signal, () => own.abort(signal.reason));
  using _limit = limitTime(clock, ms, () => own.abort(error()));
  return await work(own.signal);
}

/**
 * Calls `task` once after `ms`, unless disposed first. Does not count time in which the process was
 * suspended: use this for timeouts of peers, and `Clock.after` for actions at a point in time.
 */
export function limitTime(clock: Clock, ms: number, task: () => void): Disposable {
  return new Queue(clock, ms, false).add(task);
}

export interface DeadlinesOptions {
  /** Keeps a timer running after its last deadline, for callers that add the next one soon. */
  readonly keepsTimers?: boolean;
}

/**
 * Many timeouts with few different lengths: equal lengths expire in order, so one timer serves each length.
 */
export class Deadlines implements Disposable {
  readonly #clock: Clock;
  readonly #keepsTimers: boolean;
  readonly #queues = new Map<number, Queue>();

  constructor(clock: Clock, { keepsTimers = false }: DeadlinesOptions = {}) {
    this.#clock = clock;
    this.#keepsTimers = keepsTimers;
  }

  /** Calls `task` once after `ms` (at most a tenth later), unless disposed first. */
  add(ms: number, task: () => void): Disposable {
    let queue = this.#queues.get(ms);
    if (!queue) this.#queues.set(ms, queue = new Queue(this.#clock, ms, this.#keepsTimers));
    return queue.add(task);
  }

  [Symbol.dispose](): void {
    for (const queue of this.#queues.values()) queue[Symbol.dispose]();
    this.#queues.clear();
  }
}

class Queue implements Disposable {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #keepsTimer: boolean;
  #first: Entry | undefined;
  #last: Entry | undefined;
  #timer: Disposable | undefined;
  /** When the timer fires next. */
  #dueAt = 0;
  /** The interval between two timers, to notice a suspension of the process. */
  readonly #step: number;

  constructor(clock: Clock, ms: number, keepsTimer: boolean) {
    this.#clock = clock;
    this.#ms = ms;
    this.#step = ms / 10;
    this.#keepsTimer = keepsTimer;
  }

  add(task: () => void): Entry {
    const entry = new Entry(this, this.#clock.now() + this.#ms, task);
    entry.previous = this.#last;
    if (this.#last) this.#last.next = entry;
    else this.#first = entry;
    this.#last = entry;
    if (!this.#timer) this.#rest();
    return entry;
  }

  drop(entry: Entry): void {
    if (entry.previous) entry.previous.next = entry.next;
    else this.#first = entry.next;
    if (entry.next) entry.next.previous = entry.previous;
    else this.#last = entry.previous;
    entry.previous = entry.next = undefined;
    if (!this.#first && !this.#keepsTimer) this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    this.#first = this.#last = undefined;
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }

  readonly #ring = (): void => {
    // The timer stays set while tasks run, so that a deadline that they add does not start a later timer for
    // all.
    const rung = this.#timer;
    const now = this.#clock.now();
    if (now - this.#dueAt > leastStall) this.#move(now, now - this.#dueAt);
    while (this.#first && this.#first.at <= now) {
      const { task } = this.#first;
      this.#first[Symbol.dispose]();
      task();
    }
    if (this.#timer !== rung) return;
    this.#timer = undefined;
    if (this.#first) this.#rest();
  };

  /** Sets the timer to the first deadline if that is near, otherwise to the next step. */
  #rest(): void {
    const now = this.#clock.now();
    const left = this.#first ? this.#first.at - now : 0;
    const ms = left < 2 * this.#step ? Math.max(left, this.#step) : this.#step;
    this.#dueAt = now + ms;
    this.#timer = this.#clock.after(ms, this.#ring);
  }

  /**
   * Adds the time of a suspension to each deadline, and one more step to deadlines that would expire now: the
   * suspension may have begun a step earlier. Each deadline moves once only, so that a busy process cannot
   * postpone it forever. The order stays the same.
   */
  #move(now: number, late: number): void {
    for (let entry = this.#first; entry; entry = entry.next) {
      if (entry.isMoved) continue;
      entry.isMoved = true;
      entry.at = Math.max(Math.min(entry.at + late, now + this.#ms), now + this.#step);
    }
  }
}

class Entry implements Disposable {
  previous: Entry | undefined;
  next: Entry | undefined;
  /** Whether the deadline was moved once. */
  isMoved = false;
  #queue: Queue | undefined;
  at: number;
  readonly task: () => void;

  constructor(queue: Queue, at: number, task: () => void) {
    this.#queue = queue;
    this.at = at;
    this.task = task;
  }

  [Symbol.dispose](): void {
    this.#queue?.drop(this);
    this.#queue = undefined;
  }
}
