import { frameHeaderSize } from "./http2_frames.ts";

export type Bytes = Uint8Array<ArrayBuffer>;

/** Frames that wait to be sent, in one buffer that grows. */
export class Http2Output {
  #buffer = new Uint8Array(4096);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** All that waits; valid until the next frame is added after `taken`. */
  take(): Bytes {
    const bytes = this.#buffer.subarray(0, this.#length);
    // What was taken may be on its way still: the next frames go elsewhere.
    this.#buffer = new Uint8Array(Math.min(Math.max(4096, this.#length), largestFirst));
    this.#length = 0;
    return bytes;
  }

  raw(bytes: Uint8Array): void {
    this.#grow(bytes.length);
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  frame(type: number, flags: number, stream: number, payload: Uint8Array): void {
    this.#grow(frameHeaderSize + payload.length);
    const at = this.#length, { length } = payload;
    const into = this.#buffer;
    into[at] = length >>> 16;
    into[at + 1] = length >>> 8;
    into[at + 2] = length;
    into[at + 3] = type;
    into[at + 4] = flags;
    into[at + 5] = stream >>> 24;
    into[at + 6] = stream >>> 16;
    into[at + 7] = stream >>> 8;
    into[at + 8] = stream;
    into.set(payload, at + frameHeaderSize);
    this.#length += frameHeaderSize + length;
  }

  /** A frame whose payload is numbers of four bytes. */
  numbers(type: number, flags: number, stream: number, numbers: readonly number[]): void {
    const payload = new Uint8Array(numbers.length * 4);
    const view = new DataView(payload.buffer);
    numbers.forEach((number, at) => view.setUint32(at * 4, number));
    this.frame(type, flags, stream, payload);
  }

  #grow(more: number): void {
    if (this.#length + more <= this.#buffer.length) return;
    const larger = new Uint8Array(Math.max(this.#buffer.length * 2, this.#length + more));
    larger.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = larger;
  }
}

const largestFirst = 64 * 1024;
