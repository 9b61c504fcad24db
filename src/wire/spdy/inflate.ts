import { malformed } from "../decoder.ts";

export interface InflateOptions {
  /** What both sides know before the first byte (RFC 1950, section 2.2). */
  readonly dictionary: Uint8Array;
  /** The most bytes that one piece may become. */
  readonly limit: number;
}

/**
 * One zlib stream that comes in pieces, each ending on the border of a deflate block (RFC 1950, RFC 1951), as after
 * every flush. node:zlib does not take a dictionary in Deno and cannot go on with a stream in one call; this one is
 * made for headers of a few hundred bytes, not for speed.
 */
export class Inflate {
  readonly #options: InflateOptions;
  /** What was put out last, 32 KiB or more, for references back. */
  #window: Uint8Array;
  /** The window is its front. */
  #gathered: Uint8Array = none;
  #hasBegun = false;
  #isOver = false;
  /** Bits of the last byte that belong to the next block. */
  #bits = 0;
  #bitCount = 0;
  #in: Uint8Array = none;
  #at = 0;
  #out = new Uint8Array(512);
  #length = 0;

  constructor(options: InflateOptions) {
    this.#options = options;
    this.#window = options.dictionary;
  }

  /** What a piece says. */
  take(piece: Uint8Array): Uint8Array<ArrayBuffer> {
    this.#in = piece;
    this.#at = 0;
    this.#length = 0;
    if (!this.#hasBegun) this.#readHead();
    while (this.#at < piece.length) this.#readBlock();
    const out = this.#out.slice(0, this.#length);
    this.#remember(out);
    this.#in = none;
    return out;
  }

  /** RFC 1950, section 2.2. */
  #readHead(): void {
    const method = this.#byte();
    const flags = this.#byte();
    if ((method & 0x0f) !== 8 || (method << 8 | flags) % 31 !== 0) throw malformed("no zlib stream");
    if ((flags & 0x20) !== 0) {
      let sum = 0;
      for (let index = 0; index < 4; index++) sum = (sum << 8 | this.#byte()) >>> 0;
      if (sum !== adler32(this.#options.dictionary)) throw malformed("a zlib stream has another dictionary");
    } else {
      this.#window = none;
    }
    this.#hasBegun = true;
  }

  /** RFC 1951, section 3.2.3. */
  #readBlock(): void {
    if (this.#isOver) throw malformed("a zlib stream goes on after its end");
    this.#isOver = this.#read(1) === 1;
    const kind = this.#read(2);
    if (kind === 0) this.#readStored();
    else if (kind === 1) this.#readCompressed(fixedLiterals, fixedDistances);
    else if (kind === 2) this.#readDynamic();
    else throw malformed("a deflate block is of no known kind");
    // The checksum at the end says nothing that TCP and TLS have not said.
    if (this.#isOver) this.#at = this.#in.length;
  }

  #readStored(): void {
    this.#bits = this.#bitCount = 0;
    const length = this.#byte() | this.#byte() << 8;
    const check = this.#byte() | this.#byte() << 8;
    if ((length ^ 0xffff) !== check) throw malformed("a stored deflate block has a wrong length");
    if (this.#at + length > this.#in.length) throw malformed("a deflate block is cut off");
    this.#room(length).set(this.#in.subarray(this.#at, this.#at + length));
    this.#at += length;
  }

  /** RFC 1951, section 3.2.7. */
  #readDynamic(): void {
    const literals = this.#read(5) + 257;
    const distances = this.#read(5) + 1;
    const codes = this.#read(4) + 4;
    if (literals > 286 || distances > 30) throw malformed("a deflate block has too many codes");
    const codeLengths = new Uint8Array(19);
    for (const place of codeOrder.slice(0, codes)) codeLengths[place] = this.#read(3);
    const lengthCode = makeCode(codeLengths);
    const lengths = new Uint8Array(literals + distances);
    for (let at = 0; at < lengths.length;) {
      const symbol = this.#symbol(lengthCode);
      if (symbol < 16) {
        lengths[at++] = symbol;
        continue;
      }
      if (symbol === 16 && at === 0) throw malformed("a deflate block repeats a code that is not there");
      const value = symbol === 16 ? lengths[at - 1] ?? 0 : 0;
      const count = symbol === 16
        ? 3 + this.#read(2)
        : symbol === 17
        ? 3 + this.#read(3)
        : 11 + this.#read(7);
      if (at + count > lengths.length) throw malformed("a deflate block has too many codes");
      lengths.fill(value, at, at + count);
      at += count;
    }
    this.#readCompressed(makeCode(lengths.subarray(0, literals)), makeCode(lengths.subarray(literals)));
  }

  #readCompressed(literals: Code, distances: Code): void {
    while (true) {
      const symbol = this.#symbol(literals);
      if (symbol === 256) return;
      if (symbol < 256) this.#room(1)[0] = symbol;
      else this.#copy(this.#lengthOf(symbol), this.#distanceOf(this.#symbol(distances)));
    }
  }

  /** RFC 1951, section 3.2.5: from 257 on, each length has its begin and its number of further bits. */
  #lengthOf(symbol: number): number {
    const index = symbol - 257;
    if (index > 28) throw malformed("a deflate block has an unknown length");
    if (index === 28) return 258;
    const extra = index < 8 ? 0 : (index >> 2) - 1;
    const base = index < 8 ? index : (4 + (index & 3)) << extra;
    return 3 + base + this.#read(extra);
  }

  #distanceOf(symbol: number): number {
    if (symbol > 29) throw malformed("a deflate block has an unknown distance");
    const extra = symbol < 4 ? 0 : (symbol >> 1) - 1;
    const base = symbol < 4 ? symbol : (2 + (symbol & 1)) << extra;
    return 1 + base + this.#read(extra);
  }

  #copy(length: number, distance: number): void {
    const start = this.#length;
    if (distance > start + this.#window.length || distance > windowSize) {
      throw malformed("a deflate block refers to before its begin");
    }
    const into = this.#room(length);
    for (let index = 0; index < length; index++) {
      const from = start + index - distance;
      into[index] = (from < 0 ? this.#window[this.#window.length + from] : this.#out[from]) ?? 0;
    }
  }

  /** The next symbol of a code, bit by bit: codes come with the high bit first. */
  #symbol({ counts, symbols }: Code): number {
    let code = 0;
    let first = 0;
    let index = 0;
    for (let length = 1; length < counts.length; length++) {
      code |= this.#read(1);
      const count = counts[length] ?? 0;
      if (code - count < first) return symbols[index + code - first] ?? 0;
      index += count;
      first = (first + count) << 1;
      code <<= 1;
    }
    throw malformed("a deflate block has an unknown code");
  }

  #read(count: number): number {
    while (this.#bitCount < count) {
      this.#bits |= this.#byte() << this.#bitCount;
      this.#bitCount += 8;
    }
    const value = this.#bits & (1 << count) - 1;
    this.#bits >>>= count;
    this.#bitCount -= count;
    return value;
  }

  #byte(): number {
    const byte = this.#in[this.#at++];
    if (byte === undefined) throw malformed("a deflate block is cut off");
    return byte;
  }

  /** Where the next bytes of the output go. */
  #room(count: number): Uint8Array {
    const end = this.#length + count;
    if (end > this.#options.limit) throw malformed(`a zlib stream grows past ${this.#options.limit} bytes`);
    if (end > this.#out.length) {
      const larger = new Uint8Array(Math.max(end, this.#out.length * 2));
      larger.set(this.#out);
      this.#out = larger;
    }
    const room = this.#out.subarray(this.#length, end);
    this.#length = end;
    return room;
  }

  /** Moves the window along when twice as much has gathered: not at every piece. */
  #remember(out: Uint8Array): void {
    const end = this.#window.length + out.length;
    if (end > this.#gathered.length) {
      const kept = this.#window.subarray(Math.max(0, this.#window.length - windowSize));
      this.#gathered = new Uint8Array(Math.max(windowSize * 2, kept.length + out.length));
      this.#gathered.set(kept);
      this.#window = this.#gathered.subarray(0, kept.length);
    }
    this.#gathered.set(out, this.#window.length);
    this.#window = this.#gathered.subarray(0, this.#window.length + out.length);
  }
}

/** The checksum of RFC 1950, section 8.2. */
export function adler32(bytes: Uint8Array): number {
  let a = 1;
  let b = 0;
  for (const byte of bytes) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  return (b * 0x10000 + a) >>> 0;
}

/** A Huffman code: how many symbols have each length, and the symbols by length and value (RFC 1951, section 3.2.2). */
interface Code {
  readonly counts: Uint16Array;
  readonly symbols: Uint16Array;
}

function makeCode(lengths: Uint8Array): Code {
  const counts = new Uint16Array(16);
  for (const length of lengths) counts[length] = (counts[length] ?? 0) + 1;
  counts[0] = 0;
  let left = 1;
  for (const count of counts.subarray(1)) {
    left = left * 2 - count;
    if (left < 0) throw malformed("a deflate block has more codes than fit");
  }
  const offsets = new Uint16Array(16);
  for (let length = 1; length < 15; length++) {
    offsets[length + 1] = (offsets[length] ?? 0) + (counts[length] ?? 0);
  }
  const symbols = new Uint16Array(lengths.length);
  lengths.forEach((length, symbol) => {
    if (length === 0) return;
    const at = offsets[length] ?? 0;
    symbols[at] = symbol;
    offsets[length] = at + 1;
  });
  return { counts, symbols };
}

const none: Uint8Array = new Uint8Array(0);
const windowSize = 32 * 1024;
const codeOrder = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
/** RFC 1951, section 3.2.6. */
const fixedLiterals = makeCode(
  Uint8Array.from({ length: 288 }, (_, symbol) => symbol < 144 ? 8 : symbol < 256 ? 9 : symbol < 280 ? 7 : 8),
);
const fixedDistances = makeCode(new Uint8Array(30).fill(5));
