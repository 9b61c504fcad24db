import type { Bytes } from "../bytes.ts";
import { HeldBytes } from "./held_bytes.ts";

interface Reading {
  readonly into: Bytes;
  readonly resolve: (count: number | null) => void;
  readonly reject: (why: unknown) => void;
}

/** What comes in on one stream of many: bytes, then the end or a failure. One reader at a time. Its owner bounds it. */
export class Inbox {
  readonly #held = new HeldBytes();
  readonly #onUsed: (count: number) => void;
  readonly #areLent: boolean;
  #wake: (() => void) | undefined;
  #reading: Reading | undefined;
  #hasEnded = false;
  #failure: (() => unknown) | undefined;

  /**
   * `onUsed` is told how many bytes the reader has got, whenever it gets some. `areLent`: what is put in is a view of a
   * buffer that is used again, so that what is kept of it is a copy.
   */
  constructor(onUsed: (count: number) => void, { areLent = true }: { areLent?: boolean } = {}) {
    this.#onUsed = onUsed;
    this.#areLent = areLent;
  }

  /** How many bytes wait. */
  get length(): number {
    return this.#held.length;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Fills the front of `into`; what has come is given before the end, and before a failure. */
  read(into: Bytes): Promise<number | null> {
    if (this.#held.length > 0) {
      const count = this.#held.take(into);
      this.#onUsed(count);
      return Promise.resolve(count);
    }
    if (this.#failure) return Promise.reject(this.#failure());
    if (this.#hasEnded) return Promise.resolve(null);
    return new Promise((resolve, reject) => this.#reading = { into, resolve, reject });
  }

  /** Resolves once a read would not wait. */
  whenReadable(): Promise<void> {
    if (this.#held.length > 0 || this.#failure || this.#hasEnded) return Promise.resolve();
    return new Promise((resolve) => this.#wake = resolve);
  }

  /** Gives bytes to the reader who waits, and keeps the rest. */
  put(bytes: Bytes): void {
    if (bytes.length === 0) return;
    const reading = this.#taken();
    if (!reading) {
      this.#held.push(this.#areLent ? bytes.slice() : bytes);
      return this.#tell();
    }
    const { into, resolve } = reading;
    const count = Math.min(into.length, bytes.length);
    into.set(count < bytes.length ? bytes.subarray(0, count) : bytes);
    if (count < bytes.length) this.#held.push(this.#areLent ? bytes.slice(count) : bytes.subarray(count));
    this.#onUsed(count);
    resolve(count);
  }

  /** Nothing more will come. */
  end(): void {
    this.#hasEnded = true;
    this.#taken()?.resolve(null);
    this.#tell();
  }

  /** The first failure is the one that holds. */
  fail(why: unknown): void {
    this.failWith(() => why);
  }

  /** As `fail`, for a reason that is made only for whoever asks. */
  failWith(why: () => unknown): void {
    this.#failure ??= why;
    this.#taken()?.reject(why());
    this.#tell();
  }

  /** Forgets what nobody will read. */
  clear(): void {
    this.#held.clear();
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
