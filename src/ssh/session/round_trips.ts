import type { Clock } from "../../core/mod.ts";

/** Measures how long a server takes for the answers to its questions, which come in the order it was asked. */
export class RoundTrips {
  readonly #clock: Clock;
  /** When the questions were asked that have no answer yet. */
  #asked: number[] = [];
  /** When the question was asked that was answered last. */
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

  /** For how many milliseconds the oldest question has been without its answer. */
  get waiting(): number {
    const [oldest] = this.#asked;
    return oldest === undefined ? 0 : this.#clock.now() - oldest;
  }

  /** Whether there is an answer to a question that was asked then or later. */
  hasAnsweredSince(time: number): boolean {
    return this.#answered >= time;
  }

  onAsked(): void {
    // A server that never answers such questions, but speaks, must not make the list grow.
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
