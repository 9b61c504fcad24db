import type { Bytes } from "../../core/mod.ts";
import { malformed } from "../decoder.ts";

// A message is a sequence of fields: a number with the field's number and type, then the value. Types: 0 a
// number (7 bits per byte, low bits first), 1 eight bytes, 2 a length and bytes, 5 four bytes.

/** A field of a message: a number as a 64-bit bigint, or bytes. */
export type ProtobufField =
  | { readonly number: number; readonly kind: "number"; readonly value: bigint }
  | { readonly number: number; readonly kind: "bytes"; readonly value: Bytes };

/**
 * Yields the fields of a message in order; throws `protocol` when it is malformed. Skips values of fixed
 * size.
 */
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
      // A length beyond any message fails below.
      length = said > 0xffff_ffffn ? 0xffff_ffff : Number(said);
      at = start;
    } else if (kind === 1 || kind === 5) length = kind === 1 ? 8 : 4;
    else throw malformed(`a protobuf field has the type ${kind}`);
    if (at + length > bytes.length) throw malformed("a protobuf message ends inside a field");
    if (kind === 2) yield { number, kind: "bytes", value: bytes.subarray(at, at + length) };
    at += length;
  }
}

function readNumber(bytes: Bytes, from: number): [value: bigint, end: number] {
  // Fast path: almost all numbers fit into four bytes of seven bits.
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
    // The tenth byte may hold only the last bit.
    if (byte < 0x80 && value < 1n << 64n) return [value, from + count + 1];
  }
  throw malformed("a protobuf number has more than 64 bits");
}

function byteAt(bytes: Bytes, at: number): number {
  const byte = bytes[at];
  if (byte === undefined) throw malformed("a protobuf message ends inside a number");
  return byte;
}

/**
 * Encodes a message without zero or empty fields, as usual. For short messages: large data are sent
 * separately.
 */
export class ProtobufWriter {
  /** A plain array: a typed array per message would cost more than all other work. */
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

  /** The header of a field whose bytes follow elsewhere. */
  bytesHead(field: number, length: number): this {
    this.#add(field * 8 + 2);
    this.#add(length);
    return this;
  }

  /** A nested message, even an empty one; `more` of its bytes follow elsewhere. */
  message(field: number, inner: ProtobufWriter, more = 0): this {
    this.bytesHead(field, inner.length + more);
    for (const byte of inner.#bytes) this.#bytes.push(byte);
    return this;
  }

  /** Writes the message into `into` at `at`. */
  writeInto(into: Uint8Array, at: number): void {
    into.set(this.#bytes, at);
  }

  #add(value: bigint | number): void {
    // Encode small numbers without bigint arithmetic.
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
