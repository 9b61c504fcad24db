/** A token bucket: a burst, then a rate per second. Limits actions that cost us more than the peer. */
export class Allowance {
  readonly #most: number;
  readonly #perSecond: number;
  #left: number;
  #at: number | undefined;

  constructor(most: number, perSecond: number) {
    this.#most = this.#left = most;
    this.#perSecond = perSecond;
  }

  /** Takes one token; false when none is left. `now` is in milliseconds. */
  take(now: number): boolean {
    const passed = Math.max(0, now - (this.#at ?? now));
    this.#at = now;
    this.#left = Math.min(this.#most, this.#left + passed * this.#perSecond / 1000);
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }
}
