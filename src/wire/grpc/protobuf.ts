import type { Bytes } from "../../core/mod.ts";
import { malformed } from "../decoder.ts";

// A message is a row of fields: a number that holds the field's number and kind, then the value.
// Kinds: 0 a number (7 bits a byte, low ones first), 1 eight bytes, 2 a length and bytes, 5 four bytes.

/** A field of a message: numbers as bigint of 64 bits, all else as bytes. */
export type ProtobufField =
  | { readonly number: number; readonly kind: "number"; readonly value: bigint }
  | { readonly number: number; readonly kind: "bytes"; readonly value: Bytes };

/** The fields of a message in their order; `protocol` when it is none. Values of fixed size are left out. */
export function* readProtobuf(bytes: Bytes): Generator<ProtobufField> {
  let at = 0;
  while (at < bytes.length) {
    const [key, afterKey] = readNumber(bytes, at);
    const number = Number(key >> 3n), kind = Number(key & 7n);
    if (number === 0 || number > 0x1fff_ffff) throw malformed(`a protobuf field has the number ${number}`);
    at = afterKey;
    if (kind === 0) {
      const [value, end] = readNumber(bytes, at);
      at = end;
      yield { number, kind: "number", value };
      continue;
    }
    let length: number;
    if (kind === 2) {
      const [said, start] = readNumber(bytes, at);
      // What is larger than any message is cut off below.
      length = said > 0xffff_ffffn ? 0xffff_ffff : Number(said);
      at = start;
    } else if (kind === 1 || kind === 5) length = kind === 1 ? 8 : 4;
    else throw malformed(`a protobuf field is of kind ${kind}`);
    if (at + length > bytes.length) throw malformed("a protobuf message ends within a field");
    if (kind === 2) yield { number, kind: "bytes", value: bytes.subarray(at, at + length) };
    at += length;
  }
}

function readNumber(bytes: Bytes, from: number): [value: bigint, end: number] {
  // Nearly all numbers fit into four bytes of seven bits.
  let small = 0;
  for (let count = 0; count < 4; count++) {
    const byte = byteAt(bytes, from + count);
    small |= (byte & 0x7f) << 7 * count;
    if (byte < 0x80) return [BigInt(small), from + count + 1];
  }
  let value = BigInt(small);
  for (let count = 4; count < 10; count++) {
    const byte = byteAt(bytes, from + count);
    value |= BigInt(byte & 0x7f) << BigInt(7 * count);
    // The tenth byte has room for the last bit alone.
    if (byte < 0x80 && value < 1n << 64n) return [value, from + count + 1];
  }
  throw malformed("a protobuf number has more than 64 bits");
}

function byteAt(bytes: Bytes, at: number): number {
  const byte = bytes[at];
  if (byte === undefined) throw malformed("a protobuf message ends within a number");
  return byte;
}

/**
 * Puts a message together. Fields that are zero or empty are left out, as everybody does. It is for short messages:
 * what is long follows elsewhere.
 */
export class ProtobufWriter {
  /** An array of numbers: to make a typed array for each of them costs more than all the rest. */
  readonly #bytes: number[] = [];

  get length(): number {
    return this.#bytes.length;
  }

  number(field: number, value: bigint | number): this {
    if (Number(value) === 0) return this;
    this.#add(field * 8);
    this.#add(value);
    return this;
  }

  text(field: number, value: string): this {
    if (value === "") return this;
    const bytes = new TextEncoder().encode(value);
    this.bytesHead(field, bytes.length);
    for (const byte of bytes) this.#bytes.push(byte);
    return this;
  }

  /** The front of bytes that follow elsewhere. */
  bytesHead(field: number, length: number): this {
    this.#add(field * 8 + 2);
    this.#add(length);
    return this;
  }

  /** A message within the message, of which `more` bytes follow elsewhere; it is there even when it is empty. */
  message(field: number, inner: ProtobufWriter, more = 0): this {
    this.bytesHead(field, inner.length + more);
    for (const byte of inner.#bytes) this.#bytes.push(byte);
    return this;
  }

  /** Writes it into `into`, from `at`. */
  writeInto(into: Uint8Array, at: number): void {
    into.set(this.#bytes, at);
  }

  #add(value: bigint | number): void {
    // Small ones without big arithmetic.
    if (value >= 0 && value < 0x1000_0000) return this.#addSmall(Number(value));
    let rest = BigInt.asUintN(64, BigInt(value));
    for (; rest >= 0x80n; rest >>= 7n) this.#bytes.push(Number(rest & 0x7fn) | 0x80);
    this.#bytes.push(Number(rest));
  }

  #addSmall(value: number): void {
    for (; value >= 0x80; value >>>= 7) this.#bytes.push(value & 0x7f | 0x80);
    this.#bytes.push(value);
  }
}
