import { joinBytes } from "../../core/mod.ts";
import { Fields } from "./fields.ts";
import { Http1Problem } from "./http1_problem.ts";
import { formatFields, latin1, latin1Bytes, parseFields, quoted, sectionEnd } from "./http1_text.ts";

/** A piece of a chunked body, or its end. */
export type ChunkedPart =
  | { readonly kind: "data"; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: "end"; readonly trailers: Fields };

/** The maximum size of the line before a chunk: its size and extensions, which are ignored. */
const mostLine = 256;
/** The maximum size of the last chunk with its trailers. */
const mostTrailers = 16 * 1024;
const mostTrailerFields = 200;

/**
 * Reads a chunked body (RFC 9112, section 7.1) in pieces. `next` is a `Decode`: it returns data as soon as
 * one byte is available, as a view of its input, and buffers nothing.
 */
export class ChunkedDecoder {
  readonly #status: number;
  /** The missing bytes of the current chunk. */
  #left = 0;
  #isFirst = true;

  /** `status` is the HTTP status for a malformed body: 400 for a request, 502 for a response. */
  constructor(status: 400 | 502 = 400) {
    this.#status = status;
  }

  next(bytes: Uint8Array<ArrayBuffer>): { value: ChunkedPart; used: number } | undefined {
    if (this.#left > 0) return bytes.length === 0 ? undefined : this.#data(bytes, 0);
    const start = this.#isFirst ? 0 : this.#afterData(bytes);
    if (start === undefined) return undefined;
    const end = bytes.indexOf(10, start);
    if (end < 0 ? bytes.length - start > mostLine : end - start > mostLine) {
      throw this.#problem("a chunk's size line is too long");
    }
    if (end < 0) return undefined;
    const size = this.#size(latin1(bytes, start, end + 1));
    if (size === 0) return this.#end(bytes, end + 1);
    if (bytes.length === end + 1) return undefined;
    this.#left = size;
    this.#isFirst = false;
    return this.#data(bytes, end + 1);
  }

  #data(bytes: Uint8Array<ArrayBuffer>, start: number): { value: ChunkedPart; used: number } {
    const part = bytes.subarray(start, start + this.#left);
    this.#left -= part.length;
    return { value: { kind: "data", bytes: part }, used: start + part.length };
  }

  #afterData(bytes: Uint8Array<ArrayBuffer>): number | undefined {
    if (bytes.length > 0 && bytes[0] !== 13 || bytes.length > 1 && bytes[1] !== 10) {
      throw this.#problem("a chunk is longer than its size");
    }
    return bytes.length < 2 ? undefined : 2;
  }

  #size(line: string): number {
    // Spaces after the size violate the grammar, but servers that pad it are common, and postern writes new
    // chunks.
    const match = /^([0-9A-Fa-f]{1,13})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?\r\n$/.exec(line);
    if (!match) throw this.#problem(`invalid size line ${quoted(line)}`);
    return parseInt(match[1] ?? "", 16);
  }

  #end(bytes: Uint8Array<ArrayBuffer>, start: number): { value: ChunkedPart; used: number } | undefined {
    const end = sectionEnd(bytes, start, this.#status);
    if ((end ?? bytes.length) - start > mostTrailers) throw this.#problem("the trailers are too long");
    if (end === undefined) return undefined;
    const trailers = parseFields(latin1(bytes, start, end - 2), 0, this.#status, mostTrailerFields);
    return { value: { kind: "end", trailers }, used: end };
  }

  #problem(fault: string): Http1Problem {
    return new Http1Problem(this.#status, `Cannot read the chunked body: ${fault}`);
  }
}

/** Encodes one chunk for a single write. Never call it without bytes, which would encode the end. */
export function encodeChunk(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const size = latin1Bytes(`${bytes.length.toString(16)}\r\n`);
  return joinBytes([size, bytes, lineEnd]);
}

const lineEnd = latin1Bytes("\r\n");

/** Encodes the end of a chunked body. */
export function encodeLastChunk(trailers: Iterable<readonly [string, string]> = []): Uint8Array<ArrayBuffer> {
  return latin1Bytes(`0\r\n${formatFields(trailers)}\r\n`);
}
