import { type Clock, leastStall } from "../core/mod.ts";

/** All in milliseconds. */
export interface PulseTimes {
  /** Silence after which the peer is asked though nothing was said. */
  readonly keepalive: number;
  /** Silence, after something was said, until the peer is asked; `keepalive` when absent. */
  readonly quiet?: number;
  /** Silence after a question until the peer is gone. */
  readonly patience: number;
  /** The least silence before the peer is gone, where a question may come early; none when absent. */
  readonly deadAfter?: number;
  /** Questions fall on multiples of it, never later for that: many sessions then wake the machine as often as one. */
  readonly beat?: number;
  /** How late the timer rings when the process must have stood still. */
  readonly stall?: number;
  /** How often a question is put again because of that, until something is heard; once when absent. */
  readonly repeats?: number;
}

export interface PulseOptions extends PulseTimes {
  readonly clock: Clock;
  readonly ask: () => void;
  readonly onDead: (silence: number) => void;
}

/**
 * Knows when the peer of a session was last heard, asks when it is silent, and says when it is gone. A connection may
 * be there and dead at once, so only bytes count.
 */
export class Pulse implements Disposable {
  readonly #options: PulseOptions;
  #heardAt: number;
  /** When the first thing was said that nothing came after. */
  #saidAt: number | undefined;
  /** When the last question was put that nothing came after. */
  #askedAt: number | undefined;
  #timer: Disposable | undefined;
  #dueAt = Infinity;
  #repeats = 0;
  #isChecked = false;
  #isDeaf = false;
  #isOver = false;

  constructor(options: PulseOptions) {
    this.#options = options;
    this.#heardAt = options.clock.now();
  }

  /** By the clock. */
  get heardAt(): number {
    return this.#heardAt;
  }

  /** Whether the peer may be gone: a check was requested, or an answer takes long. */
  get isInDoubt(): boolean {
    if (this.#isChecked) return true;
    return this.#askedAt !== undefined && this.#options.clock.now() - this.#askedAt > doubtful;
  }

  /** Begins to watch. */
  start(): void {
    this.#rest(this.#options.keepalive);
  }

  onSaid(): void {
    if (this.#saidAt !== undefined) return;
    this.#saidAt = this.#options.clock.now();
    if (!this.#isDeaf && this.#askedAt === undefined) this.#hasten(this.#saidAt);
  }

  /** The timer is left as it is: it finds out when it rings. */
  onHeard(): void {
    this.#heardAt = this.#options.clock.now();
    this.#saidAt = this.#askedAt = undefined;
    this.#repeats = 0;
    this.#isChecked = false;
  }

  /** Asks at once, and gives the answer no more time than after any question. */
  check(): void {
    if (this.#isOver || this.#isDeaf) return;
    this.#isChecked = true;
    this.#ask();
  }

  /** While we do not read, the peer's silence says nothing. */
  deaf(isDeaf: boolean): void {
    if (isDeaf === this.#isDeaf) return;
    this.#isDeaf = isDeaf;
    this.#askedAt = undefined;
    if (isDeaf || this.#saidAt === undefined) return;
    this.#saidAt = this.#options.clock.now();
    this.#hasten(this.#saidAt);
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#stop();
  }

  get #quiet(): number {
    return this.#options.quiet ?? this.#options.keepalive;
  }

  readonly #ring = (): void => {
    const { clock, patience, keepalive, deadAfter = 0, onDead } = this.#options;
    if (this.#isDeaf) return this.#rest(this.#quiet);
    const now = clock.now();
    if (this.#askedAt !== undefined) {
      const deadAt = Math.max(this.#askedAt + patience, this.#heardAt + deadAfter);
      if (now < deadAt) return this.#rest(deadAt - now);
      return this.#mayRepeat(now) ? this.#ask() : onDead(now - this.#heardAt);
    }
    const askAt = this.#saidAt === undefined ? this.#heardAt + keepalive : this.#saidAt + this.#quiet;
    const left = this.#onBeat(askAt) - now;
    if (left <= 0) this.#ask();
    else this.#rest(left);
  };

  /** Where we stood still the peer may have too, or its answer was not heard: it gets its time again. */
  #mayRepeat(now: number): boolean {
    const { stall = leastStall, repeats = 1 } = this.#options;
    return now - this.#dueAt > stall && this.#repeats++ < repeats;
  }

  #ask(): void {
    const { clock, patience, keepalive, ask } = this.#options;
    const now = clock.now();
    this.#askedAt = now;
    const ms = Math.min(patience, keepalive);
    const early = this.#onBeat(now + ms) - now;
    this.#rest(early > 0 ? early : ms);
    ask();
  }

  #onBeat(time: number): number {
    const { beat } = this.#options;
    return beat === undefined ? time : Math.floor(time / beat) * beat;
  }

  /** What was said must not wait for a timer that was set for a longer silence. */
  #hasten(saidAt: number): void {
    if (this.#dueAt > saidAt + this.#quiet) this.#rest(this.#quiet);
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
