import { type Clock, limitTime } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { ForwardStream } from "./forward_stream.ts";

export interface ForwardCrowdOptions {
  readonly clock: Clock;
  /** Told when it may have become full or not, or has fewer streams. */
  readonly onChange: () => void;
}

/**
 * The streams of one session, and how much they hold for readers that are slow. The server knows no windows: whatever
 * it sends must be taken in, or nobody gets anything. So a reader that is slow and alone makes the server wait; one
 * that has company may hold more, and when that is full too, those who wait for an answer do so for a moment only: a
 * reader that takes nothing at all meanwhile loses its connection.
 */
export class ForwardCrowd implements Disposable {
  readonly #options: ForwardCrowdOptions;
  readonly #streams = new Set<ForwardStream>();
  /** Those that got much. */
  readonly #bulk = new Set<ForwardStream>();
  /** Those that hold more than a little, and how much. */
  readonly #slow = new Map<ForwardStream, number>();
  /** What the slow ones hold together. */
  #held = 0;
  #patience: Disposable | undefined;
  #mustWait = false;
  #wasFull = false;

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

  /** Whether somebody gets so much that others would feel it. */
  get hasBulk(): boolean {
    return this.#bulk.size > 0;
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
    this.#bulk.delete(stream);
    this.#note(stream, 0);
    this.#judge({ hasChanged: true });
  }

  /** A stream was given data. */
  onHeld(stream: ForwardStream): void {
    if (stream.received > bulk && this.#streams.has(stream)) this.#bulk.add(stream);
    if (stream.held <= little || !this.#streams.has(stream)) return;
    this.#note(stream, stream.held);
    this.#judge();
  }

  /** A reader took data. */
  onTaken(stream: ForwardStream): void {
    if (!this.#slow.has(stream)) return;
    this.#note(stream, stream.held <= little / 2 ? 0 : stream.held);
    this.#judge();
  }

  [Symbol.dispose](): void {
    this.#streams.clear();
    this.#slow.clear();
    this.#bulk.clear();
    this.#held = 0;
    this.#judge();
  }

  #note(stream: ForwardStream, held: number): void {
    this.#held += held - (this.#slow.get(stream) ?? 0);
    if (held === 0) this.#slow.delete(stream);
    else this.#slow.set(stream, held);
  }

  #judge({ hasChanged = false } = {}): void {
    const didWait = this.#mustWait;
    const hasCompany = this.#streams.size > this.#slow.size;
    this.#mustWait = this.#held > (hasCompany ? much : little * this.#slow.size);
    if (this.#mustWait && hasCompany) this.#lose();
    else {
      this.#patience?.[Symbol.dispose]();
      this.#patience = undefined;
    }
    if (!hasChanged && didWait === this.#mustWait && this.#wasFull === this.isFull) return;
    this.#wasFull = this.isFull;
    this.#options.onChange();
  }

  /** Loses, after a while in which somebody waited, those whose readers take nothing. */
  #lose(): void {
    if (this.#patience) return;
    const before = new Map([...this.#slow.keys()].map((stream) => [stream, stream.taken]));
    this.#patience = limitTime(this.#options.clock, patience, () => {
      this.#patience = undefined;
      for (const [stream, taken] of before) {
        const waiting = [...this.#streams].filter((other) =>
          other.isExpectant && !this.#slow.has(other)
        ).length;
        if (!this.#mustWait || waiting === 0) break;
        if (this.#slow.has(stream) && stream.taken === taken) stream.abort(tooSlow(stream, waiting));
      }
      this.#judge();
    });
  }
}

function tooSlow({ peer }: ForwardStream, waiting: number): PosternError {
  const others = waiting === 1 ? "another one waits" : `${waiting} others wait`;
  return new PosternError(
    "timeout",
    `Cannot go on with ${peer}: nothing was read for ${patience / 1000} s, and ${others} behind it`,
    { detail: "reset" },
  );
}

/** Held for each reader, where all are slow and nobody is held up but they. */
const little = 1024 * 1024;
/** Held for all readers of a session together. */
const much = 16 * 1024 * 1024;
/** Got by a stream that is there for more than an answer. */
const bulk = 4 * 1024 * 1024;
const patience = 3000;
