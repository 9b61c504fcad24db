import type { Conn } from "./conn.ts";
import { bufferSizes, giveBuffer, takeAtMost, takeBuffer } from "./spare_buffers.ts";

/**
 * The buffer for repeated reads from a connection. A waiting read must not hold a large buffer: after a read
 * that did not fill its buffer comes a small one, and after a filled one a large one. With `whenReadable`, a
 * waiting connection holds none.
 */
export class ReadRoom {
  readonly #conn: Conn;
  #small: Uint8Array<ArrayBuffer> | undefined;
  /** The size of the large one, and which of the two is next. */
  #size: number = bufferSizes.small;
  #next: number = bufferSizes.small;
  #large: Uint8Array<ArrayBuffer> | undefined;

  constructor(conn: Conn) {
    this.#conn = conn;
  }

  /** Returns the next bytes, valid until the next call; null at the end. */
  async read(): Promise<Uint8Array<ArrayBuffer> | null> {
    if (this.#conn.whenReadable) return await this.#readWhenThere();
    const into = this.#into();
    const count = await this.#conn.read(into);
    if (count === null) return null;
    this.#took(into, count);
    return count === into.length ? into : into.subarray(0, count);
  }

  /**
   * Returns the buffers to the pool. Not during a read, nor during a write of its bytes, nor after a failed
   * write.
   */
  free(): void {
    for (const buffer of [this.#small, this.#large]) if (buffer) giveBuffer(buffer);
    this.#small = this.#large = undefined;
  }

  async #readWhenThere(): Promise<Uint8Array<ArrayBuffer> | null> {
    this.free();
    await this.#conn.whenReadable?.();
    const into = this.#large = takeAtMost(Math.max(this.#size, bufferSizes.medium));
    const count = await this.#conn.read(into);
    if (count === null) return null;
    this.#took(into, count);
    return into.subarray(0, count);
  }

  #into(): Uint8Array<ArrayBuffer> {
    if (this.#large && this.#large.length !== this.#next) {
      giveBuffer(this.#large);
      this.#large = undefined;
    }
    if (this.#next === bufferSizes.small) return this.#small ??= takeBuffer(bufferSizes.small);
    return this.#large ??= takeAtMost(this.#next);
  }

  #took(into: Uint8Array<ArrayBuffer>, count: number): void {
    const isSmall = into.length === bufferSizes.small;
    if (count === into.length) {
      if (!isSmall || this.#size === bufferSizes.small) this.#size = larger(this.#size);
      this.#next = this.#size;
      return;
    }
    if (!isSmall && count < smaller(this.#size)) this.#size = smaller(this.#size);
    this.#next = bufferSizes.small;
  }
}

function larger(size: number): number {
  return size < bufferSizes.medium ? bufferSizes.medium : bufferSizes.large;
}

function smaller(size: number): number {
  return size > bufferSizes.medium ? bufferSizes.medium : bufferSizes.small;
}
