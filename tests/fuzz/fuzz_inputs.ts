import { latin1 } from "../support/raw_client.ts";
import type { Bytes } from "./fuzz_target.ts";

/** Returns an integer from 0 to below `below`. */
export type Dice = (below: number) => number;

/** Deterministic dice from a seed (mulberry32). */
export function diceOf(seed: number): Dice {
  let state = seed | 0;
  return (below) => {
    state = state + 0x6d2b79f5 | 0;
    let mixed = Math.imul(state ^ state >>> 15, 1 | state);
    mixed = mixed + Math.imul(mixed ^ mixed >>> 7, 61 | mixed) ^ mixed;
    return ((mixed ^ mixed >>> 14) >>> 0) % Math.max(1, below);
  };
}

/** The maximum length of an input in bytes; longer inputs are truncated. */
export const longestInput = 4096;

export interface InputSource {
  readonly corpus: readonly Bytes[];
  readonly words: readonly string[];
}

/** Creates an input: usually a corpus entry with a few changes, otherwise words and random bytes. */
export function makeInput(dice: Dice, { corpus, words }: InputSource): Bytes {
  const parts = words.map(latin1);
  const entry = corpus[dice(corpus.length)];
  if (!entry || dice(4) === 0) return generated(dice, parts);
  let bytes = Uint8Array.from(entry);
  for (let left = 1 + dice(dice(8) === 0 ? 12 : 3); left > 0; left--) {
    bytes = changed(dice, bytes, { corpus, parts });
  }
  return bytes.subarray(0, longestInput).slice();
}

function generated(dice: Dice, parts: readonly Bytes[]): Bytes {
  const pieces = Array.from({ length: 1 + dice(24) }, () => piece(dice, parts));
  return joined(pieces).subarray(0, longestInput).slice();
}

/** Returns a word or a few random bytes. */
function piece(dice: Dice, parts: readonly Bytes[]): Bytes {
  const word = parts[dice(parts.length)];
  if (word && dice(5) > 0) return word;
  return Uint8Array.from({ length: 1 + dice(6) }, () => dice(256));
}

function changed(
  dice: Dice,
  bytes: Bytes,
  { corpus, parts }: { readonly corpus: readonly Bytes[]; readonly parts: readonly Bytes[] },
): Bytes {
  const at = dice(bytes.length + 1);
  const length = dice(Math.min(bytes.length - at, dice(4) === 0 ? 400 : 8) + 1);
  switch (dice(9)) {
    case 0: {
      const flipped = Uint8Array.from(bytes);
      if (at < bytes.length) flipped[at] = (bytes[at] ?? 0) ^ 1 << dice(8);
      return flipped;
    }
    case 1:
      return replaced(bytes, { at, length: 1 }, Uint8Array.of(odd[dice(odd.length)] ?? 0));
    case 2:
      return replaced(bytes, { at, length }, new Uint8Array());
    case 3:
      return replaced(bytes, { at, length: 0 }, piece(dice, parts));
    case 4:
      return replaced(bytes, { at, length }, piece(dice, parts));
    case 5:
      // Repeat a piece many times for extreme lengths and depths.
      return replaced(
        bytes,
        { at, length: 0 },
        joined(Array(1 + dice(20)).fill(bytes.slice(at, at + length))),
      );
    case 6: {
      const other = corpus[dice(corpus.length)] ?? bytes;
      return replaced(bytes, { at, length: bytes.length - at }, other.slice(dice(other.length)));
    }
    case 7:
      return bytes.slice(0, at);
    default: {
      const from = dice(bytes.length + 1);
      return replaced(bytes, { at, length }, bytes.slice(from, from + dice(40)));
    }
  }
}

function replaced(bytes: Bytes, { at, length }: { at: number; length: number }, by: Bytes): Bytes {
  return joined([bytes.subarray(0, at), by, bytes.subarray(at + length)]);
}

function joined(parts: readonly Bytes[]): Bytes {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Bytes at the edges of ranges, and separators. */
const odd = [0, 1, 2, 9, 10, 13, 32, 34, 45, 47, 58, 63, 64, 92, 127, 128, 191, 192, 193, 254, 255];

/** Reduces an input that breaks a law by removing pieces. */
export async function smallest(input: Bytes, fails: (input: Bytes) => Promise<boolean>): Promise<Bytes> {
  let best = input;
  for (let size = Math.ceil(best.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < best.length;) {
      const shorter = replaced(best, { at, length: size }, new Uint8Array());
      if (shorter.length < best.length && await fails(shorter)) best = shorter;
      else at += size;
    }
  }
  return best;
}
