/** The code lengths of the bytes 0 to 255 and of the end mark (RFC 7541, appendix B). */
const lengths = [
  ...[13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28],
  ...[28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28],
  ...[6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6],
  ...[5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10],
  ...[13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7],
  ...[7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6],
  ...[15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5],
  ...[6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28],
  ...[20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23],
  ...[24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24],
  ...[22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23],
  ...[21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23],
  ...[26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25],
  ...[19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27],
  ...[20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23],
  ...[26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26],
  30,
];

const endMark = 256;
const longest = 30;

/**
 * The code is canonical: codes of one length are consecutive in byte order, and a longer code follows the
 * last shorter one. The lengths therefore define all codes.
 */
const { codes, firstOf, startOf, symbols } = canonical(lengths);

/** The encoded size of `bytes`. */
export function huffmanLength(bytes: Uint8Array): number {
  let bits = 0;
  for (const byte of bytes) bits += lengths[byte] as number;
  return bits + 7 >> 3;
}

/** Encodes `bytes`, padded with ones. */
export function huffmanEncode(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const into = new Uint8Array(huffmanLength(bytes));
  let at = 0, held = 0, count = 0;
  for (const byte of bytes) {
    const length = lengths[byte] as number, code = codes[byte] as number;
    // Add the code in halves: the pending bits and a 30-bit code exceed 32 bits.
    for (
      const [part, width] of [[code >>> 15, length - 15], [code & 0x7fff, Math.min(length, 15)]] as const
    ) {
      if (width <= 0) continue;
      held = held << width | part & (1 << width) - 1;
      count += width;
      while (count >= 8) into[at++] = held >>> (count -= 8);
      held &= 0xff;
    }
  }
  if (count > 0) into[at] = held << 8 - count | 0xff >> count;
  return into;
}

/** Decodes bytes; undefined when the code is invalid, incomplete or wrongly padded. */
export function huffmanDecode(code: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  // The shortest code has five bits.
  const into = new Uint8Array(Math.ceil(code.length * 8 / 5));
  let at = 0, held = 0, width = 0;
  for (const byte of code) {
    for (let bit = 7; bit >= 0; bit--) {
      held = held << 1 | byte >> bit & 1;
      width++;
      const offset = held - (firstOf[width] as number);
      const start = startOf[width] as number;
      if (offset < (startOf[width + 1] as number) - start) {
        const symbol = symbols[start + offset] as number;
        if (symbol === endMark) return undefined;
        into[at++] = symbol;
        held = width = 0;
      } else if (width === longest) return undefined;
    }
  }
  const isFilledRight = width < 8 && held === (1 << width) - 1;
  return isFilledRight ? into.subarray(0, at) : undefined;
}

function canonical(lengths: readonly number[]) {
  const order = lengths.map((_, symbol) => symbol)
    .sort((a, b) => (lengths[a] as number) - (lengths[b] as number) || a - b);
  const codes = new Array<number>(lengths.length);
  // Per length: its first code, and where its symbols start in the order.
  const firstOf = new Array<number>(longest + 1).fill(0);
  const startOf = new Array<number>(longest + 2).fill(order.length);
  let code = 0, at = 0;
  for (let length = 1; length <= longest; length++) {
    code <<= 1;
    firstOf[length] = code;
    startOf[length] = at;
    while (at < order.length && lengths[order[at] as number] === length) {
      codes[order[at++] as number] = code++;
    }
  }
  return { codes, firstOf, startOf, symbols: order };
}
