import { type Cursor, decoder, malformed } from "../decoder.ts";
import { DynamicTable, fieldSize, type HeaderField, staticFields } from "./hpack_table.ts";
import { huffmanDecode, huffmanEncode, huffmanLength } from "./huffman.ts";

export { fieldValue, type HeaderField } from "./hpack_table.ts";

// An HTTP/2 field list (RFC 7541, section 6). The first bits tell the representation:
//
// 1.......  an indexed field
// 01......  a field to add to the table: the index of its name, or 0 and the name; then the value
// 001.....  a new size of the dynamic table
// 0001....  a field that no intermediary may add to a table
// 0000....  a field that is not added

/** The table size before the peer's first settings. */
const defaultTableSize = 4096;

export interface DecodedFields {
  readonly fields: readonly HeaderField[];
  /** Whether the list exceeded the limit; fields beyond it were decoded for the tables, but omitted. */
  readonly isTooLarge: boolean;
}

/** Decodes the field lists of one direction of a connection, in order. */
export class HpackDecoder {
  readonly #table: DynamicTable;
  readonly #most: number;

  /** `most` is the maximum table size that we sent to the peer. */
  constructor(most: number = defaultTableSize) {
    this.#most = most;
    this.#table = new DynamicTable(Math.min(most, defaultTableSize));
  }

  /** Decodes a whole list; throws `protocol` when it is malformed, and then the decoder is unusable. */
  decode(block: Uint8Array<ArrayBuffer>, limit: number): DecodedFields {
    const read = decoder((cursor) => this.#readAll(cursor, block.length, limit))(block);
    if (read === undefined) throw malformed("a field list ends inside a field");
    return read.value;
  }

  #readAll(cursor: Cursor, length: number, limit: number): DecodedFields {
    const fields: HeaderField[] = [];
    let size = 0;
    let changes = 0;
    while (cursor.used < length) {
      const first = cursor.u8();
      if (first >= 0x20 && first < 0x40) {
        if (size > 0) throw malformed("the table size changes inside a field list");
        if (++changes > 2) throw malformed("the table size changes more than twice at once");
        this.#resize(readNumber(cursor, first, 5));
        continue;
      }
      const field = this.#readField(cursor, first);
      size += fieldSize(field);
      if (size <= limit) fields.push(field);
    }
    return { fields, isTooLarge: size > limit };
  }

  #resize(size: number): void {
    if (size > this.#most) throw malformed(`the table size grows to ${size} bytes`);
    this.#table.capacity = size;
  }

  #readField(cursor: Cursor, first: number): HeaderField {
    if (first >= 0x80) return this.#numbered(readNumber(cursor, first, 7));
    const isRemembered = first >= 0x40;
    const number = readNumber(cursor, first, isRemembered ? 6 : 4);
    const name = number === 0 ? readString(cursor) : this.#numbered(number)[0];
    const field = [name, readString(cursor)] as const;
    if (isRemembered) this.#table.add(field);
    return field;
  }

  #numbered(number: number): HeaderField {
    const field = number <= staticFields.length
      ? staticFields[number - 1]
      : this.#table.at(number - staticFields.length - 1);
    if (field === undefined) throw malformed(`the tables have no field ${number}`);
    return field;
  }
}

/** Encodes the field lists of one direction of a connection, in order. */
export class HpackEncoder {
  readonly #table = new DynamicTable(defaultTableSize);
  /** Table sizes to send with the next list: the smallest since the last list, and the current one. */
  #told: readonly number[] = [];

  /** Sets the peer's maximum table size. Never uses more than the default. */
  limitTable(bytes: number): void {
    const size = Math.min(bytes, defaultTableSize);
    if (size === this.#table.capacity && this.#told.length === 0) return;
    const smallest = Math.min(size, ...this.#told);
    this.#told = smallest < size ? [smallest, size] : [size];
    this.#table.capacity = size;
  }

  encode(fields: readonly HeaderField[]): Uint8Array<ArrayBuffer> {
    const into: number[] = [];
    for (const size of this.#told) writeNumber(into, 0x20, 5, size);
    this.#told = [];
    for (const field of fields) this.#write(into, field);
    return Uint8Array.from(into);
  }

  #write(into: number[], field: HeaderField): void {
    const [name, value] = field;
    const known = knownFields.get(`${name}\0${value}`);
    if (known !== undefined) return writeNumber(into, 0x80, 7, known);
    const { equal, named } = this.#table.find(field);
    if (equal !== undefined) return writeNumber(into, 0x80, 7, staticFields.length + 1 + equal);
    // Never add secrets to the table: its compression would reveal them to an attacker who guesses and
    // measures sizes.
    const isSecret = secretNames.has(name);
    const isRemembered = !isSecret && fieldSize(field) <= this.#table.capacity / 2;
    const number = knownNames.get(name) ?? (named === undefined ? 0 : staticFields.length + 1 + named);
    writeNumber(into, isRemembered ? 0x40 : isSecret ? 0x10 : 0, isRemembered ? 6 : 4, number);
    if (number === 0) writeString(into, name);
    writeString(into, value);
    if (isRemembered) this.#table.add(field);
  }
}

const secretNames = new Set(["authorization", "cookie", "proxy-authorization", "set-cookie"]);
const knownFields = new Map(staticFields.map(([name, value], at) => [`${name}\0${value}`, at + 1]));
const knownNames = new Map(staticFields.map(([name], at) => [name, at + 1] as const).reverse());

/** Reads a number that begins in the low `bits` of `first` (section 5.1). */
function readNumber(cursor: Cursor, first: number, bits: number): number {
  const full = (1 << bits) - 1;
  let number = first & full;
  if (number < full) return number;
  for (let shift = 0; shift <= 21; shift += 7) {
    const byte = cursor.u8();
    number += (byte & 0x7f) << shift;
    if (byte < 0x80) return number;
  }
  throw malformed("a number in a field list is too large");
}

function writeNumber(into: number[], mark: number, bits: number, number: number): void {
  const full = (1 << bits) - 1;
  if (number < full) return void into.push(mark | number);
  into.push(mark | full);
  let rest = number - full;
  for (; rest >= 0x80; rest >>>= 7) into.push(rest & 0x7f | 0x80);
  into.push(rest);
}

/** Reads a string with one character per byte; callers decide about its encoding. */
function readString(cursor: Cursor): string {
  const first = cursor.u8();
  const bytes = cursor.take(readNumber(cursor, first & 0x7f, 7));
  if (first < 0x80) return text(bytes);
  const decoded = huffmanDecode(bytes);
  if (decoded === undefined) throw malformed("a string in a field list has an invalid Huffman code");
  return text(decoded);
}

function writeString(into: number[], value: string): void {
  const plain = Uint8Array.from(value, (character) => character.charCodeAt(0));
  const isShorter = huffmanLength(plain) < plain.length;
  const bytes = isShorter ? huffmanEncode(plain) : plain;
  writeNumber(into, isShorter ? 0x80 : 0, 7, bytes.length);
  for (const byte of bytes) into.push(byte);
}

function text(bytes: Uint8Array): string {
  let said = "";
  for (let at = 0; at < bytes.length; at += 4096) {
    said += String.fromCharCode(...bytes.subarray(at, at + 4096));
  }
  return said;
}
