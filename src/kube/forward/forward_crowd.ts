import { type Clock, limitTime } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { ForwardStream } from "./forward_stream.ts";

export interface ForwardCrowdOptions {
  readonly clock: Clock;
  /** Called when the session may have become full or free, or lost a stream. */
  readonly onChange: () => void;
}

/**
 * The streams of one session, and the data buffered for slow readers. The server has no flow-control windows:
 * if postern stops reading, every stream of the session stops. With one stream only, a slow reader makes the
 * server wait. With several, slow readers get a larger buffer; when that is full too, the session stops
 * reading for a short time. A reader that takes nothing during that time loses its connection.
 */
export class ForwardCrowd implements Disposable {
  readonly #options: ForwardCrowdOptions;
  readonly #streams = new Set<ForwardStream>();
  /** Streams that received a lot of data. */
  readonly #bulk = new Set<ForwardStream>();
  /** Slow streams, with the number of buffered bytes. */
  readonly #slow = new Map<ForwardStream, number>();
  /** The bytes buffered for all slow streams. */
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

  /** Whether at least one reader is slow. */
  get isFull(): boolean {
    return this.#slow.size > 0;
  }

  /** Whether at least one stream receives enough data to slow down others. */
  get hasBulk(): boolean {
    return this.#bulk.size > 0;
  }

  /** Whether postern must stop reading from the server. */
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

  /** Records data that arrived for a stream. */
  onHeld(stream: ForwardStream): void {
    if (stream.received > bulk && this.#streams.has(stream)) this.#bulk.add(stream);
    if (stream.held <= little || !this.#streams.has(stream)) return;
    this.#note(stream, stream.held);
    this.#judge();
  }

  /** Records that a reader took data. */
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

  /** Closes streams whose readers take nothing while other streams wait for some time. */
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
  const others = waiting === 1 ? "one other connection waits" : `${waiting} other connections wait`;
  return new PosternError(
    "timeout",
    `Cannot keep the connection to ${peer}: its client read nothing for ${patience / 1000} s and ${others}`,
    { detail: "reset" },
  );
}

/** Bytes buffered for each reader, if all readers are slow and nothing else waits. */
const little = 1024 * 1024;
/** Bytes buffered for all readers of a session together. */
const much = 16 * 1024 * 1024;
/** Bytes after which a stream counts as bulk, not as a single response. */
const bulk = 4 * 1024 * 1024;
const patience = 3000;
