import assert from "node:assert/strict";
import type { Decode } from "../../src/core/mod.ts";
import { PosternError } from "../../src/words/mod.ts";

/** Bytes as readers take them. */
export type Bytes = Uint8Array<ArrayBuffer>;

/** A reader of what strangers send, and what must hold whatever that is. */
export interface FuzzTarget {
  readonly name: string;
  /** Pieces that mean something to it, as text of one byte a character. */
  readonly words: readonly string[];
  /** Fails where a law is broken. */
  readonly laws: (input: Bytes) => void | Promise<void>;
}

/** What reading gives; undefined where it is refused with an error of one of these codes, as it may be. */
export function refusedOr<T>(read: () => T, codes: readonly string[] = ["protocol"]): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof PosternError && codes.includes(error.code)) return undefined;
    throw error;
  }
}

/** A message takes bytes that are there; what follows them changes nothing, and without the last one it is not whole. */
export function decoding<T>(decode: Decode<T>, input: Bytes): void {
  const read = refusedOr(() => decode(input));
  if (!read) return;
  assert.ok(read.used > 0 && read.used <= input.length);
  assert.deepEqual(decode(input.slice(0, read.used)), read);
  assert.equal(decode(input.slice(0, read.used - 1)), undefined);
}

/** The same input in two pieces; where it is cut follows from the input itself. */
export function inPieces(input: Bytes): Bytes[] {
  const sum = input.reduce((sum, byte) => sum * 31 + byte >>> 0, 7);
  const cut = input.length === 0 ? 0 : sum % input.length;
  return [input.slice(0, cut), input.slice(cut)];
}

/** The input as text; what is no UTF-8 is replaced. */
export function textOf(input: Bytes): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(input);
}
