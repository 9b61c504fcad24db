import { type Bytes, joinBytes } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";

/** Encodes ASN.1 values in DER (X.690), each with its tag and length. */
export const der = {
  sequence: (...parts: readonly Bytes[]) => tagged(0x30, ...parts),
  set: (...parts: readonly Bytes[]) => tagged(0x31, ...parts),
  /** A non-negative number from its bytes, most significant first. */
  integer: (bytes: Bytes) => tagged(0x02, positive(bytes)),
  boolean: (value: boolean) => tagged(0x01, Uint8Array.of(value ? 0xff : 0)),
  bitString: (bytes: Bytes, unused = 0) => tagged(0x03, Uint8Array.of(unused), bytes),
  octetString: (bytes: Bytes) => tagged(0x04, bytes),
  utf8: (text: string) => tagged(0x0c, new TextEncoder().encode(text)),
  objectId,
  time,
  /** `[number]` replaces a value's tag, or wraps other values when `isConstructed`. */
  context: (number: number, content: Bytes, { isConstructed = false } = {}) =>
    tagged(0x80 | number | (isConstructed ? 0x20 : 0), content),
};

/** A decoded value: its tag, content and whole encoding. */
export interface DerValue {
  readonly tag: number;
  readonly content: Bytes;
  readonly whole: Bytes;
}

/** Reads consecutive values in `bytes`; throws `protocol` for invalid DER. */
export function readDer(bytes: Bytes): DerValue[] {
  const values: DerValue[] = [];
  for (let at = 0; at < bytes.length;) {
    const [tag = 0, first] = bytes.subarray(at, at + 2);
    let [length, head] = [first ?? -1, 2];
    if (length > 0x80 && length <= 0x84) {
      const more = bytes.subarray(at + 2, at + 2 + (length & 0x7f));
      head += length & 0x7f;
      length = more.reduce((sum, byte) => sum * 256 + byte, 0);
    } else if (length >= 0x80) length = -1;
    const end = at + head + length;
    if (length < 0 || end > bytes.length || (tag & 0x1f) === 0x1f) {
      throw new PosternError("protocol", "Cannot read the certificate: it is not valid DER");
    }
    values.push({ tag, content: bytes.subarray(at + head, end), whole: bytes.subarray(at, end) });
    at = end;
  }
  return values;
}

function tagged(tag: number, ...parts: readonly Bytes[]): Bytes {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const size: number[] = [];
  for (let left = length; left > 0; left >>>= 8) size.unshift(left & 0xff);
  const head = length < 0x80 ? [tag, length] : [tag, 0x80 | size.length, ...size];
  return joinBytes([Uint8Array.from(head), ...parts]);
}

/** Strips leading zeros, and adds one if the first bit would be a sign. */
function positive(bytes: Bytes): Bytes {
  let at = 0;
  while (at < bytes.length - 1 && bytes[at] === 0) at++;
  const rest = bytes.subarray(at);
  return (rest[0] ?? 0) & 0x80 ? Uint8Array.of(0, ...rest) : rest;
}

function objectId(text: string): Bytes {
  const [first = 0, second = 0, ...rest] = text.split(".").map(Number);
  const bytes = [first * 40 + second];
  for (const number of rest) {
    const groups = [number & 0x7f];
    for (let left = Math.floor(number / 128); left > 0; left = Math.floor(left / 128)) {
      groups.unshift(0x80 | (left & 0x7f));
    }
    bytes.push(...groups);
  }
  return tagged(0x06, Uint8Array.from(bytes));
}

/** UTCTime until 2049, GeneralizedTime from then on (RFC 5280, section 4.1.2.5). */
function time(date: Date): Bytes {
  const digits = date.toISOString().replace(/[-:T]/g, "").replace(/\..*$/, "Z");
  const isShort = date.getUTCFullYear() < 2050;
  return tagged(isShort ? 0x17 : 0x18, new TextEncoder().encode(isShort ? digits.slice(2) : digits));
}
