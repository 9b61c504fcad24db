import { type Clock, limitTime } from "../../core/mod.ts";

/** A timeout that pauses while postern prompts the user. */
export class SshDeadline implements Disposable {
  readonly #clock: Clock;
  readonly #onPassed: () => void;
  #left: number;
  #startedAt = 0;
  #timer: Disposable | undefined;

  constructor(ms: number, { clock, onPassed }: { readonly clock: Clock; readonly onPassed: () => void }) {
    this.#left = ms;
    this.#clock = clock;
    this.#onPassed = onPassed;
    this.#run();
  }

  /** Runs `work` while the timeout is paused. */
  async outside<T>(work: () => Promise<T>): Promise<T> {
    this[Symbol.dispose]();
    this.#left -= this.#clock.now() - this.#startedAt;
    try {
      return await work();
    } finally {
      this.#run();
    }
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }

  #run(): void {
    this.#startedAt = this.#clock.now();
    this.#timer = limitTime(this.#clock, Math.max(this.#left, 0), this.#onPassed);
  }
}
