import { ByteQueue, type Bytes } from "./byte_queue.ts";

interface Reading {
  readonly into: Bytes;
  readonly resolve: (count: number | null) => void;
  readonly reject: (why: unknown) => void;
}

/** What comes in on one stream of many: bytes, then the end or a failure. One reader at a time. */
export class Inbox {
  readonly #queue = new ByteQueue();
  readonly #onUsed: (count: number) => void;
  #wake: (() => void) | undefined;
  #reading: Reading | undefined;
  #hasEnded = false;
  #failure: { readonly why: unknown } | undefined;

  /** `onUsed` is told how many bytes the reader has got, whenever it gets some. */
  constructor(onUsed: (count: number) => void) {
    this.#onUsed = onUsed;
  }

  /** How many bytes wait. */
  get length(): number {
    return this.#queue.length;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Fills the front of `into`; what has come is given before the end, and before a failure. */
  read(into: Bytes): Promise<number | null> {
    if (this.#queue.length > 0) {
      const count = this.#queue.take(into);
      this.#onUsed(count);
      return Promise.resolve(count);
    }
    if (this.#failure) return Promise.reject(this.#failure.why);
    if (this.#hasEnded) return Promise.resolve(null);
    return new Promise((resolve, reject) => this.#reading = { into, resolve, reject });
  }

  /** Resolves once a read would not wait. */
  whenReadable(): Promise<void> {
    if (this.#queue.length > 0 || this.#failure || this.#hasEnded) return Promise.resolve();
    return new Promise((resolve) => this.#wake = resolve);
  }

  /** Gives bytes to the reader who waits, and keeps a copy of the rest. */
  put(bytes: Bytes): void {
    const reading = this.#taken();
    if (!reading) {
      this.#queue.add(bytes);
      return this.#tell();
    }
    const count = Math.min(bytes.length, reading.into.length);
    reading.into.set(bytes.subarray(0, count));
    this.#queue.add(bytes.subarray(count));
    this.#onUsed(count);
    reading.resolve(count);
  }

  /** Nothing more will come. */
  end(): void {
    this.#hasEnded = true;
    this.#taken()?.resolve(null);
    this.#tell();
  }

  /** The first failure is the one that holds. */
  fail(why: unknown): void {
    this.#failure ??= { why };
    this.#taken()?.reject(why);
    this.#tell();
  }

  /** Forgets what nobody will read. */
  clear(): void {
    this.#queue.clear();
  }

  #tell(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  #taken(): Reading | undefined {
    const reading = this.#reading;
    this.#reading = undefined;
    return reading;
  }
}
