import { bufferSizes, type Bytes, giveBuffer, takeBuffer } from "../../core/mod.ts";
import { frameHeaderSize } from "./http2_frames.ts";

/** Unsent frames in one growing buffer; no buffer when there are none. */
export class Http2Output {
  #buffer: Bytes = none;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Returns all unsent bytes. The caller owns them and returns the buffer with `free()` after sending. */
  take(): Bytes {
    const bytes = this.#buffer.subarray(0, this.#length);
    this.#buffer = none;
    this.#length = 0;
    return bytes;
  }

  /** Takes back a buffer from `take()` for reuse. */
  free(bytes: Bytes): void {
    giveBuffer(new Uint8Array(bytes.buffer));
  }

  raw(bytes: Uint8Array): void {
    this.#grow(bytes.length);
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Adds a frame; `before` is the first part of its payload. */
  frame(type: number, flags: number, stream: number, payload: Uint8Array, before: Uint8Array = none): void {
    const at = this.#head(type, flags, stream, before.length + payload.length);
    if (before.length > 0) this.#buffer.set(before, at);
    this.#buffer.set(payload, at + before.length);
  }

  /** Adds a frame with a payload of four-byte numbers. */
  numbers(type: number, flags: number, stream: number, numbers: readonly number[]): void {
    const at = this.#head(type, flags, stream, numbers.length * 4);
    numbers.forEach((number, index) => this.#number(at + index * 4, number));
  }

  /** Adds a frame header with room for its payload, and returns the payload's offset. */
  #head(type: number, flags: number, stream: number, length: number): number {
    this.#grow(frameHeaderSize + length);
    const at = this.#length;
    const into = this.#buffer;
    into[at] = length >>> 16;
    into[at + 1] = length >>> 8;
    into[at + 2] = length;
    into[at + 3] = type;
    into[at + 4] = flags;
    this.#number(at + 5, stream);
    this.#length += frameHeaderSize + length;
    return at + frameHeaderSize;
  }

  #number(at: number, number: number): void {
    const into = this.#buffer;
    into[at] = number >>> 24;
    into[at + 1] = number >>> 16;
    into[at + 2] = number >>> 8;
    into[at + 3] = number;
  }

  #grow(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#buffer.length) return;
    const size = Object.values(bufferSizes).find((size) => size >= needed) ??
      Math.max(this.#buffer.length * 2, needed);
    const larger = takeBuffer(size);
    larger.set(this.#buffer.subarray(0, this.#length));
    giveBuffer(this.#buffer);
    this.#buffer = larger;
  }
}

const none: Bytes = new Uint8Array(0);
