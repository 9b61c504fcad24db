import { whenAborted } from "./when_aborted.ts";

/** Time, so that tests can hold it. */
export interface Clock {
  /** Milliseconds that only grow. */
  now(): number;
  /** The calendar. */
  date(): Date;
  /** Calls `task` once after `ms` unless disposed before; behind what came meanwhile where the process stood still. */
  after(ms: number, task: () => void): Disposable;
  /** Resolves once everything that has come by now was handed on: what is said meanwhile can go in one write. */
  turn(): Promise<void>;
}

/**
 * How late, in ms, a timer rings when the process must have stood still: the machine slept or had no time for it, or
 * somebody stopped it. What came meanwhile has not been read then, and whoever sent it did nothing wrong.
 */
export const leastStall = 250;

/** Resolves after `ms`, or once `until` has settled; fails with the signal's reason. */
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

/** Runs `work` with a signal that ends with `signal`, or with `error()` after `ms` as `limitTime` counts them. */
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
 * Calls `task` once, `ms` from now, unless disposed before. Time in which the process stood still does not count: for
 * limits of what others may take. `Clock.after` is for what has to happen by the clock.
 */
export function limitTime(clock: Clock, ms: number, task: () => void): Disposable {
  return new Queue(clock, ms, false).add(task);
}

export interface DeadlinesOptions {
  /** Leaves a timer running when its last deadline was met, for those to whom the next one is a moment away. */
  readonly keepsTimers?: boolean;
}

/** Many limits of time of few lengths: equal lengths end in the order they began, so one timer serves each length. */
export class Deadlines implements Disposable {
  readonly #clock: Clock;
  readonly #keepsTimers: boolean;
  readonly #queues = new Map<number, Queue>();

  constructor(clock: Clock, { keepsTimers = false }: DeadlinesOptions = {}) {
    this.#clock = clock;
    this.#keepsTimers = keepsTimers;
  }

  /** Calls `task` once, `ms` from now (at most a tenth of `ms` late), unless disposed before. */
  add(ms: number, task: () => void): Disposable {
    let queue = this.#queues.get(ms);
    if (!queue) this.#queues.set(ms, queue = new Queue(this.#clock, ms, this.#keepsTimers));
    return queue.add(task);
  }

  /** Forgets all deadlines. */
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
  /** When the timer is to ring. */
  #dueAt = 0;
  /** Between two rings, so that a time is noticed in which the process stood still. */
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
    // It stays in place while tasks run, so that a deadline they add does not start a later timer for all.
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

  /** Until the first deadline where that is near, else for a step. */
  #rest(): void {
    const now = this.#clock.now();
    const left = this.#first ? this.#first.at - now : 0;
    const ms = left < 2 * this.#step ? Math.max(left, this.#step) : this.#step;
    this.#dueAt = now + ms;
    this.#timer = this.#clock.after(ms, this.#ring);
  }

  /**
   * Gives back the time in which the process stood still, and a step more to what would be due now, since that time may
   * have begun a step earlier. But only once: somebody who keeps the process from its timers is not to win time by that
   * again and again. The order stays as it is.
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
  /** Whether time was given back to it. */
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
