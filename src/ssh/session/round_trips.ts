import type { Clock } from "../../core/mod.ts";

/** Measures how long a server takes to answer keepalives; answers arrive in order. */
export class RoundTrips {
  readonly #clock: Clock;
  /** When each unanswered keepalive was sent. */
  #asked: number[] = [];
  /** When the last answered keepalive was sent. */
  #answered = -Infinity;
  #last: number | undefined;
  #shortest: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get last(): number | undefined {
    return this.#last;
  }

  get shortest(): number | undefined {
    return this.#shortest;
  }

  /** How many milliseconds the oldest keepalive has been unanswered. */
  get waiting(): number {
    const [oldest] = this.#asked;
    return oldest === undefined ? 0 : this.#clock.now() - oldest;
  }

  /** Whether the server has answered a keepalive sent then or later. */
  hasAnsweredSince(time: number): boolean {
    return this.#answered >= time;
  }

  onAsked(): void {
    // Keep the list short with a server that sends data but never answers keepalives.
    if (this.#asked.length >= mostAsked) this.#asked.shift();
    this.#asked.push(this.#clock.now());
  }

  onAnswer(): void {
    const asked = this.#asked.shift();
    if (asked === undefined) return;
    this.#answered = asked;
    this.#last = this.#clock.now() - asked;
    this.#shortest = Math.min(this.#last, this.#shortest ?? this.#last);
  }
}

const mostAsked = 64;
