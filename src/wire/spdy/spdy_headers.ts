import { malformed } from "../decoder.ts";
import { Inflate } from "./inflate.ts";
import { spdyDictionary } from "./spdy_dictionary.ts";

// A header block (SPDY/3, section 2.6.10), as it is inside one zlib stream for all blocks of a direction:
//
// +-------+--------+------+--------+-------+
// | COUNT | LENGTH | NAME | LENGTH | VALUE |   numbers of four bytes; names in lower case
// +-------+--------+------+--------+-------+

/** Decodes the header blocks of one direction of a session, in order. */
export class SpdyHeaderReader {
  readonly #inflate = new Inflate({ dictionary: spdyDictionary(), limit: mostBytes });

  read(block: Uint8Array): Map<string, string> {
    return parseBlock(this.#inflate.take(block));
  }
}

/**
 * Encodes the header blocks of one direction. Stores them without compression, which every inflater accepts:
 * a block has only some hundred bytes and needs no history, so it takes a single write.
 */
export class SpdyHeaderWriter {
  #hasBegun = false;

  write(headers: Iterable<readonly [name: string, value: string]>): Uint8Array<ArrayBuffer> {
    const block = encodeBlock([...headers]);
    const begin = this.#hasBegun ? none : streamBegin;
    this.#hasBegun = true;
    const { length } = block;
    const bytes = new Uint8Array(begin.length + 5 + length + flush.length);
    bytes.set(begin);
    // RFC 1951, section 3.2.4.
    bytes.set([0, length, length >> 8, ~length, ~length >> 8], begin.length);
    bytes.set(block, begin.length + 5);
    // Without a following empty block, a reader may hold data back.
    bytes.set(flush, begin.length + 5 + length);
    return bytes;
  }
}

function encodeBlock(headers: readonly (readonly [string, string])[]): Uint8Array {
  const parts = headers.flatMap(([name, value]) => [
    new TextEncoder().encode(name.toLowerCase()),
    new TextEncoder().encode(value),
  ]);
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + 4 + part.length, 4));
  if (bytes.length > 0xffff) throw malformed("the headers are too long to send");
  const view = new DataView(bytes.buffer);
  view.setUint32(0, headers.length);
  let at = 4;
  for (const part of parts) {
    view.setUint32(at, part.length);
    bytes.set(part, at + 4);
    at += 4 + part.length;
  }
  return bytes;
}

function parseBlock(bytes: Uint8Array<ArrayBuffer>): Map<string, string> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = 0;
  const number = () => {
    if (at + 4 > bytes.length) throw malformed("a header block is truncated");
    at += 4;
    return view.getUint32(at - 4);
  };
  const text = () => {
    const length = number();
    if (at + length > bytes.length) throw malformed("a header block is truncated");
    at += length;
    return new TextDecoder().decode(bytes.subarray(at - length, at));
  };
  const headers = new Map<string, string>();
  const count = number();
  if (count > mostHeaders) throw malformed(`a header block has ${count} headers`);
  for (let index = 0; index < count; index++) {
    const name = text();
    if (name === "" || name !== name.toLowerCase()) {
      throw malformed("a header name is empty or not lowercase");
    }
    if (headers.has(name)) throw malformed("a header occurs twice in a block");
    headers.set(name, text());
  }
  if (at < bytes.length) throw malformed("a header block continues after its end");
  return headers;
}

const none = new Uint8Array(0);
const flush = Uint8Array.of(0, 0, 0, 0xff, 0xff);
/**
 * A deflate stream with a 32 KiB window and a dictionary, identified by its checksum (RFC 1950, section 2.2).
 */
const streamBegin = Uint8Array.of(0x78, 0xbb, 0xe3, 0xc6, 0xa7, 0xc2);
const mostBytes = 64 * 1024;
const mostHeaders = 256;
