import type { Decode } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";

/** Created once: split messages often run out of bytes, and must not build a stack trace each time. */
const missing = new Error("bytes are missing");

/** Reads the bytes of one message in order; stops the attempt when bytes are missing. */
export class Cursor {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  #at = 0;

  constructor(bytes: Uint8Array<ArrayBuffer>) {
    this.#bytes = bytes;
  }

  /** The number of bytes taken. */
  get used(): number {
    return this.#at;
  }

  u8(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) throw missing;
    this.#at++;
    return byte;
  }

  /** Two bytes, big-endian. */
  u16(): number {
    return this.u8() << 8 | this.u8();
  }

  /** Four bytes, big-endian. */
  u32(): number {
    return this.u16() * 0x10000 + this.u16();
  }

  /** The next `count` bytes, as a view. */
  take(count: number): Uint8Array<ArrayBuffer> {
    const end = this.#at + count;
    if (end > this.#bytes.length) throw missing;
    const bytes = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return bytes;
  }

  /** The bytes before the next `stop`, which is also taken; more than `most` bytes are malformed. */
  takeUntil(stop: number, most: number): Uint8Array<ArrayBuffer> {
    const end = this.#bytes.indexOf(stop, this.#at);
    const length = (end < 0 ? this.#bytes.length : end) - this.#at;
    if (length > most) throw malformed(`a field is longer than ${most} bytes`);
    if (end < 0) throw missing;
    const bytes = this.#bytes.subarray(this.#at, end);
    this.#at = end + 1;
    return bytes;
  }
}

/** Creates a `Decode` from a function that reads one message. */
export function decoder<T>(read: (cursor: Cursor) => T): Decode<T> {
  return (bytes) => {
    const cursor = new Cursor(bytes);
    try {
      const value = read(cursor);
      return { value, used: cursor.used };
    } catch (error) {
      if (error === missing) return undefined;
      throw error;
    }
  };
}

/** The error for bytes that violate a protocol. */
export function malformed(what: string): PosternError {
  return new PosternError("protocol", `Cannot read the message: ${what}`);
}
