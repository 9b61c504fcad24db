import type { Conn } from "./conn.ts";
import { bufferSizes, giveBuffer, takeAtMost, takeBuffer } from "./spare_buffers.ts";

/**
 * Where a connection is read into, over and over. A read that waits must not hold a large buffer: after a read that was
 * not filled (so what was there is drained) comes a small one, and when that is filled, a large one again at once.
 * Where a connection tells when there is something to read, none is held meanwhile.
 */
export class ReadRoom {
  readonly #conn: Conn;
  #small: Uint8Array<ArrayBuffer> | undefined;
  /** How large the large one is, and which of the two is next. */
  #size: number = bufferSizes.small;
  #next: number = bufferSizes.small;
  #large: Uint8Array<ArrayBuffer> | undefined;

  constructor(conn: Conn) {
    this.#conn = conn;
  }

  /** The next bytes, until the one after them is asked for; null at the end. */
  async read(): Promise<Uint8Array<ArrayBuffer> | null> {
    if (this.#conn.whenReadable) return await this.#readWhenThere();
    const into = this.#into();
    const count = await this.#conn.read(into);
    if (count === null) return null;
    this.#took(into, count);
    return count === into.length ? into : into.subarray(0, count);
  }

  /** Gives its buffers back: not while a read is under way, nor a write of what was read, nor after one that has failed. */
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
