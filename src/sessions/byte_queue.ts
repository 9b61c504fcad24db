export type Bytes = Uint8Array<ArrayBuffer>;

/** Bytes that wait for their reader, as they came. Whoever adds to it bounds it. */
export class ByteQueue {
  #pieces: Bytes[] = [];
  /** The first piece that is left, and how much of it is gone. */
  #first = 0;
  #offset = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Keeps a copy. */
  add(bytes: Bytes): void {
    if (bytes.length === 0) return;
    this.#pieces.push(bytes.slice());
    this.#length += bytes.length;
  }

  /** Moves what there is to the front of `into` and tells how much that was. */
  take(into: Uint8Array): number {
    let count = 0;
    while (count < into.length && this.#length > 0) {
      const piece = this.#pieces[this.#first] as Bytes;
      const size = Math.min(piece.length - this.#offset, into.length - count);
      into.set(piece.subarray(this.#offset, this.#offset + size), count);
      count += size;
      this.#offset += size;
      this.#length -= size;
      if (this.#offset < piece.length) break;
      this.#offset = 0;
      this.#first++;
    }
    if (this.#first > 64 || this.#length === 0) {
      this.#pieces = this.#pieces.slice(this.#first);
      this.#first = 0;
    }
    return count;
  }

  /** Forgets everything and tells how much that was. */
  clear(): number {
    const length = this.#length;
    this.#pieces = [];
    this.#first = this.#offset = this.#length = 0;
    return length;
  }
}
