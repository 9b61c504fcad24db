/** So much at once, and so much a second after that: for what costs us more than whoever asks for it. */
export class Allowance {
  readonly #most: number;
  readonly #perSecond: number;
  #left: number;
  #at: number | undefined;

  constructor(most: number, perSecond: number) {
    this.#most = this.#left = most;
    this.#perSecond = perSecond;
  }

  /** Takes one; false when there is none. `now` is in milliseconds. */
  take(now: number): boolean {
    const passed = Math.max(0, now - (this.#at ?? now));
    this.#at = now;
    this.#left = Math.min(this.#most, this.#left + passed * this.#perSecond / 1000);
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }
}
