/** Writes the fields of ssh messages (RFC 4251, section 5). */
export class SshWriter {
  #bytes = new Uint8Array(256);
  #used = 0;

  byte(value: number): this {
    this.#room(1)[0] = value;
    return this;
  }

  u32(value: number): this {
    const at = this.#room(4);
    at[0] = value >>> 24;
    at[1] = value >>> 16;
    at[2] = value >>> 8;
    at[3] = value;
    return this;
  }

  /** Writes a length and that many bytes; text as UTF-8. */
  string(value: string | Uint8Array): this {
    const bytes = typeof value === "string" ? new TextEncoder().encode(value) : value;
    this.u32(bytes.length);
    return this.raw(bytes);
  }

  /** Writes bytes without a length. */
  raw(bytes: Uint8Array): this {
    this.#room(bytes.length).set(bytes);
    return this;
  }

  bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#used);
  }

  #room(count: number): Uint8Array<ArrayBuffer> {
    const end = this.#used + count;
    if (end > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(end, this.#bytes.length * 2));
      larger.set(this.#bytes.subarray(0, this.#used));
      this.#bytes = larger;
    }
    const room = this.#bytes.subarray(this.#used, end);
    this.#used = end;
    return room;
  }
}

/** Reads the fields of ssh messages; returns undefined past the end. */
export class SshReader {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  #at = 0;

  constructor(bytes: Uint8Array<ArrayBuffer>) {
    this.#bytes = bytes;
  }

  byte(): number | undefined {
    return this.#bytes[this.#at++];
  }

  u32(): number | undefined {
    const end = this.#at + 4;
    if (end > this.#bytes.length) return undefined;
    const value = new DataView(this.#bytes.buffer, this.#bytes.byteOffset + this.#at, 4).getUint32(0);
    this.#at = end;
    return value;
  }

  string(): Uint8Array<ArrayBuffer> | undefined {
    const length = this.u32();
    if (length === undefined || this.#at + length > this.#bytes.length) return undefined;
    const bytes = this.#bytes.slice(this.#at, this.#at + length);
    this.#at += length;
    return bytes;
  }

  text(): string | undefined {
    const bytes = this.string();
    return bytes && new TextDecoder().decode(bytes);
  }
}
