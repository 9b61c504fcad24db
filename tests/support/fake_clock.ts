import type { Clock } from "../../src/core/mod.ts";

/** A clock that stands still until a test moves it. */
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

  turn(): Promise<void> {
    return Promise.resolve();
  }

  /** How many timers wait. */
  get waiting(): number {
    return this.#timers.size;
  }

  /** Moves time on, ringing every timer on the way in order, and lets what they started settle. */
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

  /** As a process that was stopped sees it: time has gone on all at once, and what was due meanwhile rings now. */
  async skip(ms: number): Promise<void> {
    await settle();
    this.#now += ms;
    await this.advance(0);
  }

  /** As after a sleep of the machine: the calendar jumps, timers do not ring. */
  jumpDate(ms: number): void {
    this.#offset += ms;
  }
}

/** Lets every promise that can settle without I/O settle. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}
