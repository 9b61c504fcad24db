import type { Clock } from "../../src/core/mod.ts";

/** A clock that only tests advance. */
export class FakeClock implements Clock {
  #now = 0;
  #offset = Date.UTC(2026, 0, 1);
  readonly #timers = new Set<{ at: number; task: () => void }>();

  now(): number {
    return this.#now;
  }

  date(): Date {
    return new Date(this.#offset + this.#now);
  }

  after(ms: number, task: () => void): Disposable {
    const timer = { at: this.#now + ms, task };
    this.#timers.add(timer);
    return { [Symbol.dispose]: () => void this.#timers.delete(timer) };
  }

  signalAfter(ms: number): AbortSignal {
    const controller = new AbortController();
    this.after(ms, () => controller.abort());
    return controller.signal;
  }

  turn(): Promise<void> {
    return Promise.resolve();
  }

  /** The number of pending timers. */
  get waiting(): number {
    return this.#timers.size;
  }

  /** Advances time, fires due timers in order, and lets their promises settle. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settle();
    while (true) {
      let next: { at: number; task: () => void } | undefined;
      for (const timer of this.#timers) if (timer.at <= end && (!next || timer.at < next.at)) next = timer;
      if (!next) break;
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.task();
      await settle();
    }
    this.#now = end;
    await settle();
  }

  /** Simulates a suspended process: time jumps, then all overdue timers fire. */
  async skip(ms: number): Promise<void> {
    await settle();
    this.#now += ms;
    await this.advance(0);
  }

  /** Simulates a sleep of the machine: the date jumps, timers do not fire. */
  jumpDate(ms: number): void {
    this.#offset += ms;
  }
}

/** Waits until all promises that need no I/O have settled. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}
