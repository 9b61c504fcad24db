import { PosternError } from "../../words/mod.ts";
import { type Cursor, malformed } from "../../wire/mod.ts";

// Names have no trailing dot; the root is the empty string. A byte that a label cannot show, such as a dot,
// is written as its number: `a\046b.example` (RFC 1035, section 5.1, RFC 4343, section 2.1).

/** Maximum length of a name in bytes, with its empty last label (RFC 1035, section 3.1). */
const longestName = 255;

/** A valid name has at most this many labels, and so pointers; more would be a loop. */
const mostPointers = 127;

/** The two bits that mark a pointer (RFC 1035, section 4.1.4). */
const pointer = 0xc0;

/**
 * Reads a name of `message`; the cursor holds the rest of the message. A pointer must point before the labels
 * it ends, so every pointer moves toward the start and none can loop.
 */
export function readName(cursor: Cursor, message: Uint8Array<ArrayBuffer>): string {
  let text = "";
  let bytes = 1;
  let pointers = 0;
  let start = cursor.used;
  let length = cursor.u8();
  // Until the first pointer, bytes come from the cursor, which notices missing ones.
  let at = -1;
  const next = () => {
    if (at < 0) return cursor.u8();
    if (at >= cursor.used) throw malformed("a name that runs past its own pointer");
    return message[at++] ?? 0;
  };
  while (length > 0) {
    if (length >= pointer) {
      const to = (length & 0x3f) << 8 | next();
      if (to >= start) throw malformed("a name that points forward");
      if (++pointers > mostPointers) throw malformed(`a name of more than ${mostPointers} pointers`);
      start = to;
      at = to;
    } else {
      if (length > 63) throw malformed("a label of an unknown kind");
      bytes += length + 1;
      if (bytes > longestName) throw malformed(`a name of more than ${longestName} bytes`);
      if (text !== "") text += ".";
      for (; length > 0; length--) text += labelText(next());
    }
    length = next();
  }
  return text;
}

function labelText(byte: number): string {
  const isPlain = byte > 32 && byte < 127 && byte !== dot && byte !== backslash;
  return isPlain ? String.fromCharCode(byte) : `\\${String(byte).padStart(3, "0")}`;
}

const dot = 46;
const backslash = 92;

/** Whether a message can contain this name. */
export function isDnsName(name: string): boolean {
  return labelsOf(name) !== undefined;
}

/** The labels of a name as bytes; undefined if the name is invalid. */
export function labelsOf(name: string): Uint8Array<ArrayBuffer>[] | undefined {
  const labels: Uint8Array<ArrayBuffer>[] = [];
  if (name === "") return labels;
  let left = longestName - 1;
  let label: number[] = [];
  const end = () => {
    left -= label.length + 1;
    const isRight = label.length > 0 && label.length <= 63 && left >= 0;
    labels.push(Uint8Array.from(label));
    label = [];
    return isRight;
  };
  for (let at = 0; at < name.length; at++) {
    const code = name.charCodeAt(at);
    if (code === dot) {
      if (!end()) return undefined;
    } else if (code === backslash) {
      const digits = name.slice(at + 1, at + 4);
      if (!/^[0-9]{3}$/.test(digits) || Number(digits) > 255) return undefined;
      label.push(Number(digits));
      at += 3;
    } else if (code > 32 && code < 127) label.push(code);
    else return undefined;
  }
  return end() ? labels : undefined;
}

/** Writes names and compresses repeated endings. */
export class NameWriter {
  readonly #places = new Map<string, number>();

  /** The bytes of a name at offset `at`. Other names do not point into an uncompressed one. */
  write(name: string, at: number, { compressed = true } = {}): number[] {
    const labels = labelsOf(name);
    if (!labels) throw new PosternError("internal", `Cannot encode "${name.slice(0, 300)}" as a DNS name`);
    const bytes: number[] = [];
    let rest = name;
    for (const label of labels) {
      if (compressed) {
        const known = this.#places.get(rest);
        if (known !== undefined) return [...bytes, pointer | known >> 8, known & 255];
        const place = at + bytes.length;
        // A pointer has 14 bits.
        if (place < 0x4000) this.#places.set(rest, place);
      }
      bytes.push(label.length, ...label);
      rest = rest.slice(rest.indexOf(".") + 1);
    }
    bytes.push(0);
    return bytes;
  }
}
