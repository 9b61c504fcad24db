import { type Clock, leastStall } from "../../core/mod.ts";

export interface SshPulseOptions {
  readonly clock: Clock;
  /** Milliseconds of silence before a question; it comes up to half of that earlier. */
  readonly keepalive: number;
  /** Milliseconds of silence after which a question has gone unanswered for too long. */
  readonly deadAfter: number;
  readonly ask: () => void;
  readonly onDead: (silence: number) => void;
}

/** Knows when a server was last heard, asks when it is silent, and says when it is gone. */
export class SshPulse implements Disposable {
  readonly #options: SshPulseOptions;
  /** When the questions were asked that have no answer yet. */
  #asked: number[] = [];
  #heardAt: number;
  #timer: Disposable | undefined;
  #dueAt = Infinity;
  /** Whether a question was put once more because the process stood still. */
  #hasRepeated = false;
  /** When the question was asked that was answered last. */
  #answered = -Infinity;
  #lastRoundTrip: number | undefined;
  #shortestRoundTrip: number | undefined;
  #isOver = false;

  constructor(options: SshPulseOptions) {
    this.#options = options;
    this.#heardAt = options.clock.now();
  }

  get heardAt(): number {
    return this.#heardAt;
  }

  get lastRoundTrip(): number | undefined {
    return this.#lastRoundTrip;
  }

  get shortestRoundTrip(): number | undefined {
    return this.#shortestRoundTrip;
  }

  /** For how many milliseconds the oldest question has been without its answer. */
  get waiting(): number {
    const [oldest] = this.#asked;
    return oldest === undefined ? 0 : this.#options.clock.now() - oldest;
  }

  /** Whether there is an answer to a question that was asked then or later. */
  hasAnsweredSince(time: number): boolean {
    return this.#answered >= time;
  }

  /** Begins to watch, with a question that tells how long the way is. */
  start(): void {
    this.check();
  }

  onHeard(): void {
    this.#heardAt = this.#options.clock.now();
    this.#hasRepeated = false;
  }

  /** The server answers in the order it was asked. */
  onAnswer(): void {
    const asked = this.#asked.shift();
    if (asked === undefined) return;
    this.#answered = asked;
    const ms = this.#options.clock.now() - asked;
    this.#lastRoundTrip = ms;
    this.#shortestRoundTrip = Math.min(ms, this.#shortestRoundTrip ?? ms);
  }

  /** Asks at once. */
  check(): void {
    if (this.#isOver) return;
    this.#ask();
    this.#restUntil(Math.min(this.#patience, this.#options.keepalive) + this.#options.clock.now());
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }

  /** What a question has for its answer, also when we asked late: after a sleep the silence says nothing. */
  get #patience(): number {
    const { keepalive, deadAfter } = this.#options;
    return Math.max(deadAfter - keepalive, keepalive / 2);
  }

  readonly #beat = (): void => {
    const { clock, keepalive, deadAfter, onDead } = this.#options;
    const now = clock.now();
    const last = this.#asked.at(-1);
    const isWaiting = last !== undefined && this.#heardAt <= last;
    if (isWaiting) {
      const deadAt = Math.max(this.#heardAt + deadAfter, last + this.#patience);
      if (now < deadAt) return this.#rest(deadAt - now);
      // Where we stood still the server may have too: it gets its time again, but only once.
      if (now - this.#dueAt <= leastStall || this.#hasRepeated) return onDead(now - this.#heardAt);
      this.#hasRepeated = true;
      return this.check();
    }
    const askAt = this.#onBeat(this.#heardAt + keepalive);
    if (now < askAt) return this.#rest(askAt - now);
    this.check();
  };

  /** Not later than a time, and with the other sessions: together they wake the machine as often as one. */
  #restUntil(time: number): void {
    const now = this.#options.clock.now();
    const at = this.#onBeat(time);
    this.#rest((at > now ? at : time) - now);
  }

  #onBeat(time: number): number {
    const beat = this.#options.keepalive / 2;
    return Math.floor(time / beat) * beat;
  }

  #ask(): void {
    // A server that never answers such questions, but speaks, must not make the list grow.
    if (this.#asked.length >= mostAsked) this.#asked.shift();
    this.#asked.push(this.#options.clock.now());
    this.#options.ask();
  }

  #rest(ms: number): void {
    this.#timer?.[Symbol.dispose]();
    this.#dueAt = this.#options.clock.now() + ms;
    this.#timer = this.#options.clock.after(Math.ceil(ms), this.#beat);
  }
}

const mostAsked = 64;
