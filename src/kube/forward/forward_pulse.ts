import type { Clock } from "../../core/mod.ts";

export interface ForwardPulseOptions {
  readonly clock: Clock;
  /** Milliseconds without a byte, after something was said, until the peer is asked. */
  readonly quiet: number;
  /** Milliseconds without a byte after that question until the peer is gone. */
  readonly patience: number;
  /** Milliseconds of silence after which the peer is asked though nothing was said. */
  readonly keepalive: number;
  readonly ask: () => void;
  readonly onDead: (silence: number) => void;
}

/**
 * Knows whether a session is still heard: it is asked when nothing comes after something was said, and is gone when
 * nothing comes after that. A connection may be there and dead at once, so only bytes count.
 */
export class ForwardPulse implements Disposable {
  readonly #options: ForwardPulseOptions;
  #heardAt: number;
  /** When the first thing was said that nothing came after. */
  #saidAt: number | undefined;
  #askedAt: number | undefined;
  #timer: Disposable | undefined;
  #dueAt = Infinity;
  #isChecked = false;
  #isDeaf = false;
  #isOver = false;

  constructor(options: ForwardPulseOptions) {
    this.#options = options;
    this.#heardAt = options.clock.now();
    this.#rest(options.keepalive);
  }

  /** For how many milliseconds nothing came. */
  get silence(): number {
    return this.#options.clock.now() - this.#heardAt;
  }

  /** Whether the peer may be gone: somebody had a reason to ask, or an answer takes long. */
  get isInDoubt(): boolean {
    if (this.#isChecked) return true;
    return this.#askedAt !== undefined && this.#options.clock.now() - this.#askedAt > doubtful;
  }

  onSaid(): void {
    if (this.#saidAt !== undefined) return;
    this.#saidAt = this.#options.clock.now();
    if (!this.#isDeaf && this.#dueAt > this.#saidAt + this.#options.quiet) this.#rest(this.#options.quiet);
  }

  /** The timer is left as it is: it finds out when it rings. */
  onHeard(): void {
    this.#heardAt = this.#options.clock.now();
    this.#saidAt = this.#askedAt = undefined;
    this.#isChecked = false;
  }

  /** Asks at once, and gives the answer no more time than after any question. */
  check(): void {
    if (this.#isOver || this.#isDeaf) return;
    this.#isChecked = true;
    this.#ask();
  }

  /** While nobody listens, silence says nothing. */
  deaf(isDeaf: boolean): void {
    if (isDeaf === this.#isDeaf) return;
    this.#isDeaf = isDeaf;
    this.#askedAt = undefined;
    if (isDeaf || this.#saidAt === undefined) return;
    this.#saidAt = this.#options.clock.now();
    if (this.#dueAt > this.#saidAt + this.#options.quiet) this.#rest(this.#options.quiet);
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#stop();
  }

  readonly #ring = (): void => {
    const { clock, quiet, patience, keepalive, onDead } = this.#options;
    if (this.#isDeaf) return this.#rest(quiet);
    const now = clock.now();
    // The machine slept: whoever answered meanwhile was not heard.
    const isLate = now - this.#dueAt > quiet;
    if (this.#askedAt !== undefined) {
      const deadAt = this.#askedAt + patience;
      if (isLate) return this.#ask();
      return now >= deadAt ? onDead(this.silence) : this.#rest(deadAt - now);
    }
    const since = this.#saidAt ?? this.#heardAt;
    const askAt = since + (this.#saidAt === undefined ? keepalive : quiet);
    if (now >= askAt) this.#ask();
    else this.#rest(askAt - now);
  };

  #ask(): void {
    const { clock, patience, ask } = this.#options;
    this.#askedAt = clock.now();
    this.#rest(patience);
    ask();
  }

  #rest(ms: number): void {
    this.#stop();
    if (this.#isOver) return;
    this.#dueAt = this.#options.clock.now() + ms;
    this.#timer = this.#options.clock.after(Math.ceil(ms), this.#ring);
  }

  #stop(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    this.#dueAt = Infinity;
  }
}

/** An answer that takes longer, in ms, is waited for elsewhere. */
const doubtful = 1000;
