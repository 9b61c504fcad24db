import { Inflate as PakoInflate, Z_SYNC_FLUSH, type ZStream } from "pako";
import { malformed } from "../decoder.ts";

type Bytes = Uint8Array<ArrayBuffer>;

export interface InflateOptions {
  /** The preset dictionary (RFC 1950, section 2.2). */
  readonly dictionary: Uint8Array;
  /** The maximum inflated size of one piece. */
  readonly limit: number;
}

/** Inflates one zlib stream in pieces, each flushed at a deflate block boundary (RFC 1950, RFC 1951). */
export class Inflate {
  readonly #pako: PakoInflate;
  #stream: ZStream | undefined;
  #out: Bytes = none;

  constructor({ dictionary, limit }: InflateOptions) {
    // Without `windowBits`, pako would also accept gzip. A header block usually fits into 1 KiB.
    this.#pako = new PakoInflate({ dictionary, windowBits: 15, chunkSize: 1024 });
    this.#pako.onStart = (stream) => {
      this.#stream = stream;
    };
    this.#pako.onData = (bytes) => {
      // Throwing here stops the piece, so a small one cannot inflate to many megabytes.
      if (this.#out.length + bytes.length > limit) {
        throw malformed(`a zlib stream inflates to more than ${limit} bytes`);
      }
      this.#out = this.#out.length === 0 ? bytes : joined(this.#out, bytes);
    };
  }

  take(piece: Uint8Array): Bytes {
    if (this.#pako.ended) throw malformed("a zlib stream continues after its end");
    this.#out = none;
    if (!this.#pako.push(piece, Z_SYNC_FLUSH)) throw malformed(`invalid zlib stream: ${this.#pako.msg}`);
    if (!this.#pako.ended && !isBetweenBlocks(this.#stream)) throw malformed("a deflate block is truncated");
    return this.#out;
  }
}

/** See `data_type` in zlib.h: 128 is set between two blocks. */
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
