import { type Clock, leastStall } from "../core/mod.ts";

/** All in milliseconds. */
export interface PulseTimes {
  /** How long the peer may be silent before a keepalive, when nothing was sent to it. */
  readonly keepalive: number;
  /** How long it may be silent after something was sent (default: `keepalive`). */
  readonly quiet?: number;
  /** How long the peer may be silent after a keepalive before it counts as dead. */
  readonly patience: number;
  /**
   * The minimum silence before the peer counts as dead, for keepalives that may be sent early (default: 0).
   */
  readonly deadAfter?: number;
  /**
   * Moves keepalives to an earlier multiple of this interval, so that many sessions wake the machine as often
   * as one.
   */
  readonly beat?: number;
  /** How late a timer must fire to show that the process was suspended. */
  readonly stall?: number;
  /** How many times to repeat a keepalive after suspensions, until something arrives (default: 1). */
  readonly repeats?: number;
}

export interface PulseOptions extends PulseTimes {
  readonly clock: Clock;
  readonly ask: () => void;
  readonly onDead: (silence: number) => void;
}

/**
 * Tracks when a session last received data, sends keepalives in silence, and reports a dead peer. An open
 * connection may be dead, so only received bytes count.
 */
export class Pulse implements Disposable {
  readonly #options: PulseOptions;
  #heardAt: number;
  /** When something was first sent that has no answer yet. */
  #saidAt: number | undefined;
  /** When the last unanswered keepalive was sent. */
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

  /** When the last byte arrived, by the clock. */
  get heardAt(): number {
    return this.#heardAt;
  }

  /** Whether the peer may be dead: a check was requested, or an answer takes long. */
  get isInDoubt(): boolean {
    if (this.#isChecked) return true;
    return this.#askedAt !== undefined && this.#options.clock.now() - this.#askedAt > doubtful;
  }

  start(): void {
    this.#rest(this.#options.keepalive);
  }

  onSaid(): void {
    if (this.#saidAt !== undefined) return;
    this.#saidAt = this.#options.clock.now();
    if (!this.#isDeaf && this.#askedAt === undefined) this.#hasten(this.#saidAt);
  }

  /** Records received data. The timer stays: it checks the time when it fires. */
  onHeard(): void {
    this.#heardAt = this.#options.clock.now();
    this.#saidAt = this.#askedAt = undefined;
    this.#repeats = 0;
    this.#isChecked = false;
  }

  /** Sends a keepalive now; the time for its answer is the usual one. */
  check(): void {
    if (this.#isOver || this.#isDeaf) return;
    this.#isChecked = true;
    this.#ask();
  }

  /** Pauses the checks: while we do not read, the peer's silence says nothing. */
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

  /**
   * Whether to repeat the keepalive after a suspension of this process: the answer may still be unread, or
   * the peer slept too.
   */
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

  /** Shortens a timer that was set for a longer silence, when something is sent. */
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

/** The peer is in doubt when its answer takes longer than this, in ms. */
const doubtful = 1000;
