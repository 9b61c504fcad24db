import type { Bytes } from "../bytes.ts";

/**
 * Received bytes that wait for a reader, in order. Gathers small pieces, because each one costs more than it
 * holds.
 */
export class HeldBytes {
  #pieces: Bytes[] = [];
  #length = 0;
  /** The rest of the buffer that holds the last small piece. */
  #spare = none;

  /** The number of bytes. */
  get length(): number {
    return this.#length;
  }

  get pieces(): number {
    return this.#pieces.length;
  }

  /** Appends a piece, which the caller must not change afterwards. */
  push(bytes: Bytes): void {
    this.#length += bytes.length;
    if (bytes.length > small || this.#pieces.length < fewPieces) {
      this.#spare = none;
      this.#pieces.push(bytes);
    } else if (bytes.length <= this.#spare.length) {
      this.#lengthen(bytes);
    } else {
      this.#spare = new Uint8Array(gathered);
      this.#pieces.push(this.#spare.subarray(0, 0));
      this.#lengthen(bytes);
    }
  }

  /** Fills the start of `into`; returns the number of bytes. */
  take(into: Uint8Array): number {
    let count = 0;
    let used = 0;
    for (; used < this.#pieces.length && count < into.length; used++) {
      const piece = this.#pieces[used];
      if (!piece) break;
      const room = into.length - count;
      if (piece.length > room) {
        into.set(piece.subarray(0, room), count);
        this.#pieces[used] = piece.subarray(room);
        count += room;
        break;
      }
      into.set(piece, count);
      count += piece.length;
    }
    if (used === this.#pieces.length) this.clear();
    else {
      this.#pieces.splice(0, used);
      this.#length -= count;
    }
    return count;
  }

  clear(): void {
    this.#pieces = [];
    this.#length = 0;
    this.#spare = none;
  }

  #lengthen(bytes: Bytes): void {
    const last = this.#pieces.pop() ?? none;
    this.#spare.set(bytes);
    this.#spare = this.#spare.subarray(bytes.length);
    this.#pieces.push(new Uint8Array(last.buffer, last.byteOffset, last.length + bytes.length));
  }
}

const none = new Uint8Array(0);
/** Larger pieces are kept without copying. */
const small = 1024;
/** This many small pieces are kept without copying too: usually they are read immediately. */
const fewPieces = 8;
const gathered = 16 * 1024;
