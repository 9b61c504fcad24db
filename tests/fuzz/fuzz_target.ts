import assert from "node:assert/strict";
import type { Decode } from "../../src/core/mod.ts";
import { PosternError } from "../../src/words/mod.ts";

/** The input type of readers. */
export type Bytes = Uint8Array<ArrayBuffer>;

/** A reader of untrusted input, and the laws for any input. */
export interface FuzzTarget {
  readonly name: string;
  /** Meaningful pieces of input, as text with one byte per character. */
  readonly words: readonly string[];
  /** Throws if the input breaks a law. */
  readonly laws: (input: Bytes) => void | Promise<void>;
}

/** Returns the result of a reader, or undefined if it throws an error with one of these codes. */
export function refusedOr<T>(read: () => T, codes: readonly string[] = ["protocol"]): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof PosternError && codes.includes(error.code)) return undefined;
    throw error;
  }
}

/**
 * Checks that a message uses only existing bytes, ignores following bytes, and is incomplete without its last
 * byte.
 */
export function decoding<T>(decode: Decode<T>, input: Bytes): void {
  const read = refusedOr(() => decode(input));
  if (!read) return;
  assert.ok(read.used > 0 && read.used <= input.length);
  assert.deepEqual(decode(input.slice(0, read.used)), read);
  assert.equal(decode(input.slice(0, read.used - 1)), undefined);
}

/** Splits an input into two pieces at a position that depends on the input. */
export function inPieces(input: Bytes): Bytes[] {
  const sum = input.reduce((sum, byte) => sum * 31 + byte >>> 0, 7);
  const cut = input.length === 0 ? 0 : sum % input.length;
  return [input.slice(0, cut), input.slice(cut)];
}

/** Decodes the input as text and replaces invalid UTF-8. */
export function textOf(input: Bytes): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(input);
}
