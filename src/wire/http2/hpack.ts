import { type Cursor, decoder, malformed } from "../decoder.ts";
import { DynamicTable, fieldSize, type HeaderField, staticFields } from "./hpack_table.ts";
import { huffmanDecode, huffmanEncode, huffmanLength } from "./huffman.ts";

export { fieldValue, type HeaderField } from "./hpack_table.ts";

// A list of fields as HTTP/2 sends it (RFC 7541, section 6). The first bits tell what follows:
//
// 1.......  a field of the tables, by its number
// 01......  a field that both sides remember: the number of its name or 0 and the name; the value
// 001.....  how large the table of the remembered fields is from now on
// 0001....  a field that nobody on the way may remember
// 0000....  a field that is not remembered

/** How large the table of a peer is before it says anything else. */
const defaultTableSize = 4096;

export interface DecodedFields {
  readonly fields: readonly HeaderField[];
  /** The list was longer than allowed; what is beyond was read, for the tables, and left out. */
  readonly isTooLarge: boolean;
}

/** Reads the lists of one direction of a connection, in their order. */
export class HpackDecoder {
  readonly #table: DynamicTable;
  readonly #most: number;

  /** `most` is what we told the peer that its table may have at most. */
  constructor(most: number = defaultTableSize) {
    this.#most = most;
    this.#table = new DynamicTable(Math.min(most, defaultTableSize));
  }

  /** Reads a whole list; `protocol` when it is none. After that nothing more can be read. */
  decode(block: Uint8Array<ArrayBuffer>, limit: number): DecodedFields {
    const read = decoder((cursor) => this.#readAll(cursor, block.length, limit))(block);
    if (read === undefined) throw malformed("a list of fields ends within a field");
    return read.value;
  }

  #readAll(cursor: Cursor, length: number, limit: number): DecodedFields {
    const fields: HeaderField[] = [];
    let size = 0;
    let changes = 0;
    while (cursor.used < length) {
      const first = cursor.u8();
      if (first >= 0x20 && first < 0x40) {
        if (size > 0) throw malformed("the size of a table changes within a list of fields");
        if (++changes > 2) throw malformed("the size of a table changes more than twice at once");
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
    if (size > this.#most) throw malformed(`a table of fields grows to ${size} bytes`);
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
    if (field === undefined) throw malformed(`there is no field ${number} in the tables`);
    return field;
  }
}

/** Writes the lists of one direction of a connection, in their order. */
export class HpackEncoder {
  readonly #table = new DynamicTable(defaultTableSize);
  /** Sizes to be told with the next list: the smallest one since the last, and the one that holds. */
  #told: readonly number[] = [];

  /** What the peer allows its table to have. We use no more than the usual. */
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
    // The table is the peer's: one that guesses must not be able to learn a secret by the size of what we send.
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

/** A number that begins in the low `bits` of `first` (section 5.1). */
function readNumber(cursor: Cursor, first: number, bits: number): number {
  const full = (1 << bits) - 1;
  let number = first & full;
  if (number < full) return number;
  for (let shift = 0; shift <= 21; shift += 7) {
    const byte = cursor.u8();
    number += (byte & 0x7f) << shift;
    if (byte < 0x80) return number;
  }
  throw malformed("a number in a list of fields is too large");
}

function writeNumber(into: number[], mark: number, bits: number, number: number): void {
  const full = (1 << bits) - 1;
  if (number < full) return void into.push(mark | number);
  into.push(mark | full);
  let rest = number - full;
  for (; rest >= 0x80; rest >>>= 7) into.push(rest & 0x7f | 0x80);
  into.push(rest);
}

/** Each byte becomes a character: fields are bytes, and what a name means is for others. */
function readString(cursor: Cursor): string {
  const first = cursor.u8();
  const bytes = cursor.take(readNumber(cursor, first & 0x7f, 7));
  if (first < 0x80) return text(bytes);
  const decoded = huffmanDecode(bytes);
  if (decoded === undefined) throw malformed("a text in a list of fields has a wrong Huffman code");
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
