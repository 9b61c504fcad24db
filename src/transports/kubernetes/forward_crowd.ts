import { type Clock, PosternError } from "../../core/mod.ts";
import type { ForwardStream } from "./forward_stream.ts";

export interface ForwardCrowdOptions {
  readonly clock: Clock;
  /** Told when it may have become full or not, or has fewer streams. */
  readonly onChange: () => void;
}

/**
 * The streams of one session, and how much they hold for readers that are slow. The server knows no windows: whatever
 * it sends must be taken in, or nobody gets anything. So a reader that is slow and alone makes the server wait; one
 * that has company may hold more, and when that is full too, the others wait for a moment only: a reader that takes
 * nothing at all meanwhile loses its connection.
 */
export class ForwardCrowd implements Disposable {
  readonly #options: ForwardCrowdOptions;
  #wasFull = false;
  readonly #streams = new Set<ForwardStream>();
  /** Those that hold more than a little. */
  readonly #slow = new Set<ForwardStream>();
  #patience: Disposable | undefined;
  #mustWait = false;

  constructor(options: ForwardCrowdOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#streams.size;
  }

  /** Whether somebody's reader is behind. */
  get isFull(): boolean {
    return this.#slow.size > 0;
  }

  /** Whether nothing more can be taken from the server. */
  get mustWait(): boolean {
    return this.#mustWait;
  }

  enter(stream: ForwardStream): void {
    this.#streams.add(stream);
    this.#judge();
  }

  leave(stream: ForwardStream): void {
    this.#streams.delete(stream);
    this.#slow.delete(stream);
    this.#judge({ hasChanged: true });
  }

  /** A stream was given data. */
  onHeld(stream: ForwardStream): void {
    if (stream.held <= little) return;
    this.#slow.add(stream);
    this.#judge();
  }

  /** A reader took data. */
  onTaken(stream: ForwardStream): void {
    if (!this.#slow.has(stream)) return;
    if (stream.held <= little / 2) this.#slow.delete(stream);
    this.#judge();
  }

  [Symbol.dispose](): void {
    this.#streams.clear();
    this.#slow.clear();
    this.#judge();
  }

  #judge({ hasChanged = false } = {}): void {
    const didWait = this.#mustWait;
    const hasCompany = this.#streams.size > this.#slow.size;
    const most = hasCompany ? much : little;
    this.#mustWait = [...this.#slow].some((stream) => stream.held > most);
    if (this.#mustWait && hasCompany) this.#lose();
    else {
      this.#patience?.[Symbol.dispose]();
      this.#patience = undefined;
    }
    if (!hasChanged && didWait === this.#mustWait && this.#wasFull === this.isFull) return;
    this.#wasFull = this.isFull;
    this.#options.onChange();
  }

  /** Loses, after a while, those whose readers take nothing. */
  #lose(): void {
    if (this.#patience) return;
    const before = new Map([...this.#slow].map((stream) => [stream, stream.taken]));
    this.#patience = this.#options.clock.after(patience, () => {
      this.#patience = undefined;
      for (const [stream, taken] of before) {
        if (!this.#slow.has(stream) || stream.held <= much || stream.taken > taken) continue;
        const others = this.#streams.size - 1;
        stream.abort(
          new PosternError(
            "timeout",
            `Cannot go on with ${stream.peer}: nothing was read for ${
              patience / 1000
            } s, and ${others} others wait behind it`,
            { detail: "reset" },
          ),
        );
      }
      this.#judge();
    });
  }
}

/** Held for a reader whose stream is alone in its session. */
const little = 1024 * 1024;
/** Held for a reader whose stream has company. */
const much = 16 * 1024 * 1024;
const patience = 10_000;
