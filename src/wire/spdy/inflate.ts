import { Inflate as PakoInflate, Z_SYNC_FLUSH, type ZStream } from "pako";
import { malformed } from "../decoder.ts";

type Bytes = Uint8Array<ArrayBuffer>;

export interface InflateOptions {
  /** What both sides know before the first byte (RFC 1950, section 2.2). */
  readonly dictionary: Uint8Array;
  /** The most bytes that one piece may become. */
  readonly limit: number;
}

/** One zlib stream that comes in pieces, each ending with a flush on the border of a deflate block (RFC 1950, RFC 1951). */
export class Inflate {
  readonly #pako: PakoInflate;
  #stream: ZStream | undefined;
  #out: Bytes = none;

  constructor({ dictionary, limit }: InflateOptions) {
    // Without the number of bits, gzip would be read as well; a header block mostly fits into 1 KiB.
    this.#pako = new PakoInflate({ dictionary, windowBits: 15, chunkSize: 1024 });
    this.#pako.onStart = (stream) => {
      this.#stream = stream;
    };
    this.#pako.onData = (bytes) => {
      // Throwing here ends the piece: a small one that would become many megabytes takes no memory.
      if (this.#out.length + bytes.length > limit) throw malformed(`a zlib stream grows past ${limit} bytes`);
      this.#out = this.#out.length === 0 ? bytes : joined(this.#out, bytes);
    };
  }

  /** What a piece says. */
  take(piece: Uint8Array): Bytes {
    if (this.#pako.ended) throw malformed("a zlib stream goes on after its end");
    this.#out = none;
    if (!this.#pako.push(piece, Z_SYNC_FLUSH)) throw malformed(`no zlib stream: ${this.#pako.msg}`);
    if (!this.#pako.ended && !isBetweenBlocks(this.#stream)) throw malformed("a deflate block is cut off");
    return this.#out;
  }
}

/** What zlib.h says of `data_type`: 128 is set between two blocks. */
function isBetweenBlocks(stream: ZStream | undefined): boolean {
  return stream !== undefined && (stream.data_type & 128) !== 0;
}

function joined(one: Bytes, other: Bytes): Bytes {
  const bytes = new Uint8Array(one.length + other.length);
  bytes.set(one);
  bytes.set(other, one.length);
  return bytes;
}

const none: Bytes = new Uint8Array(0);
