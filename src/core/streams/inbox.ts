import type { Bytes } from "../bytes.ts";
import { HeldBytes } from "./held_bytes.ts";

interface Reading {
  readonly into: Bytes;
  readonly resolve: (count: number | null) => void;
  readonly reject: (why: unknown) => void;
}

/**
 * The received side of one stream: bytes, then the end or a failure. One reader at a time. The owner limits
 * its size.
 */
export class Inbox {
  readonly #held = new HeldBytes();
  readonly #onUsed: (count: number) => void;
  readonly #areLent: boolean;
  #wake: (() => void) | undefined;
  #reading: Reading | undefined;
  #hasEnded = false;
  #failure: (() => unknown) | undefined;

  /**
   * Calls `onUsed` with the number of bytes whenever the reader gets some. With `areLent`, `put` gets views
   * of a reused buffer, so the inbox copies what it keeps.
   */
  constructor(onUsed: (count: number) => void, { areLent = true }: { areLent?: boolean } = {}) {
    this.#onUsed = onUsed;
    this.#areLent = areLent;
  }

  /** The number of waiting bytes. */
  get length(): number {
    return this.#held.length;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Fills the start of `into`; received bytes precede the end or a failure. */
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

  /** Resolves when a read would not wait. */
  whenReadable(): Promise<void> {
    if (this.#held.length > 0 || this.#failure || this.#hasEnded) return Promise.resolve();
    return new Promise((resolve) => this.#wake = resolve);
  }

  /** Passes bytes to a waiting reader and keeps the rest. */
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

  /** Marks the end of the data. */
  end(): void {
    this.#hasEnded = true;
    this.#taken()?.resolve(null);
    this.#tell();
  }

  /** Records a failure; only the first one counts. */
  fail(why: unknown): void {
    this.failWith(() => why);
  }

  /** Like `fail`, but creates the reason only on demand. */
  failWith(why: () => unknown): void {
    this.#failure ??= why;
    this.#taken()?.reject(why());
    this.#tell();
  }

  /** Drops bytes that will not be read. */
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
