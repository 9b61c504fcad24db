/**
 * D. J. Bernstein's ChaCha20, with a 64-bit counter and a 64-bit nonce. For short texts only: calling the
 * system's cipher costs more than computing a few blocks here.
 */
export class ChaCha20 {
  readonly #key: Uint32Array;
  readonly #block = new Uint32Array(16);
  readonly #bytes = new Uint8Array(this.#block.buffer);

  /** `key` has 32 bytes. */
  constructor(key: Uint8Array) {
    this.#key = new Uint32Array(Uint8Array.from(key).buffer);
  }

  /**
   * Returns 64 bytes of the key stream, valid until the next call. The nonce is a sequence number, high byte
   * first.
   */
  block(counter: number, sequence: number): Uint8Array<ArrayBuffer> {
    const [k0 = 0, k1 = 0, k2 = 0, k3 = 0, k4 = 0, k5 = 0, k6 = 0, k7 = 0] = this.#key;
    const nonce = swapped(sequence);
    // "expand 32-byte k"
    let a0 = 0x61707865, a1 = 0x3320646e, a2 = 0x79622d32, a3 = 0x6b206574;
    let b0 = k0, b1 = k1, b2 = k2, b3 = k3;
    let c0 = k4, c1 = k5, c2 = k6, c3 = k7;
    let d0 = counter, d1 = 0, d2 = 0, d3 = nonce;
    for (let round = 0; round < 10; round++) {
      a0 = a0 + b0 | 0, d0 ^= a0, d0 = d0 << 16 | d0 >>> 16;
      c0 = c0 + d0 | 0, b0 ^= c0, b0 = b0 << 12 | b0 >>> 20;
      a0 = a0 + b0 | 0, d0 ^= a0, d0 = d0 << 8 | d0 >>> 24;
      c0 = c0 + d0 | 0, b0 ^= c0, b0 = b0 << 7 | b0 >>> 25;
      a1 = a1 + b1 | 0, d1 ^= a1, d1 = d1 << 16 | d1 >>> 16;
      c1 = c1 + d1 | 0, b1 ^= c1, b1 = b1 << 12 | b1 >>> 20;
      a1 = a1 + b1 | 0, d1 ^= a1, d1 = d1 << 8 | d1 >>> 24;
      c1 = c1 + d1 | 0, b1 ^= c1, b1 = b1 << 7 | b1 >>> 25;
      a2 = a2 + b2 | 0, d2 ^= a2, d2 = d2 << 16 | d2 >>> 16;
      c2 = c2 + d2 | 0, b2 ^= c2, b2 = b2 << 12 | b2 >>> 20;
      a2 = a2 + b2 | 0, d2 ^= a2, d2 = d2 << 8 | d2 >>> 24;
      c2 = c2 + d2 | 0, b2 ^= c2, b2 = b2 << 7 | b2 >>> 25;
      a3 = a3 + b3 | 0, d3 ^= a3, d3 = d3 << 16 | d3 >>> 16;
      c3 = c3 + d3 | 0, b3 ^= c3, b3 = b3 << 12 | b3 >>> 20;
      a3 = a3 + b3 | 0, d3 ^= a3, d3 = d3 << 8 | d3 >>> 24;
      c3 = c3 + d3 | 0, b3 ^= c3, b3 = b3 << 7 | b3 >>> 25;
      a0 = a0 + b1 | 0, d3 ^= a0, d3 = d3 << 16 | d3 >>> 16;
      c2 = c2 + d3 | 0, b1 ^= c2, b1 = b1 << 12 | b1 >>> 20;
      a0 = a0 + b1 | 0, d3 ^= a0, d3 = d3 << 8 | d3 >>> 24;
      c2 = c2 + d3 | 0, b1 ^= c2, b1 = b1 << 7 | b1 >>> 25;
      a1 = a1 + b2 | 0, d0 ^= a1, d0 = d0 << 16 | d0 >>> 16;
      c3 = c3 + d0 | 0, b2 ^= c3, b2 = b2 << 12 | b2 >>> 20;
      a1 = a1 + b2 | 0, d0 ^= a1, d0 = d0 << 8 | d0 >>> 24;
      c3 = c3 + d0 | 0, b2 ^= c3, b2 = b2 << 7 | b2 >>> 25;
      a2 = a2 + b3 | 0, d1 ^= a2, d1 = d1 << 16 | d1 >>> 16;
      c0 = c0 + d1 | 0, b3 ^= c0, b3 = b3 << 12 | b3 >>> 20;
      a2 = a2 + b3 | 0, d1 ^= a2, d1 = d1 << 8 | d1 >>> 24;
      c0 = c0 + d1 | 0, b3 ^= c0, b3 = b3 << 7 | b3 >>> 25;
      a3 = a3 + b0 | 0, d2 ^= a3, d2 = d2 << 16 | d2 >>> 16;
      c1 = c1 + d2 | 0, b0 ^= c1, b0 = b0 << 12 | b0 >>> 20;
      a3 = a3 + b0 | 0, d2 ^= a3, d2 = d2 << 8 | d2 >>> 24;
      c1 = c1 + d2 | 0, b0 ^= c1, b0 = b0 << 7 | b0 >>> 25;
    }
    const block = this.#block;
    block[0] = a0 + 0x61707865,
      block[1] = a1 + 0x3320646e,
      block[2] = a2 + 0x79622d32,
      block[3] = a3 + 0x6b206574;
    block[4] = b0 + k0, block[5] = b1 + k1, block[6] = b2 + k2, block[7] = b3 + k3;
    block[8] = c0 + k4, block[9] = c1 + k5, block[10] = c2 + k6, block[11] = c3 + k7;
    block[12] = d0 + counter, block[13] = d1, block[14] = d2, block[15] = d3 + nonce;
    return this.#bytes;
  }

  /** Encrypts or decrypts in place, starting at the block `counter`. */
  apply(bytes: Uint8Array, counter: number, sequence: number): void {
    for (let at = 0; at < bytes.length; at += 64, counter++) {
      const stream = this.block(counter, sequence);
      const end = Math.min(at + 64, bytes.length);
      for (let index = at; index < end; index++) {
        bytes[index] = (bytes[index] ?? 0) ^ (stream[index - at] ?? 0);
      }
    }
  }
}

/** Swaps the four bytes: the machine is little-endian. */
function swapped(word: number): number {
  return word << 24 | (word & 0xff00) << 8 | word >>> 8 & 0xff00 | word >>> 24;
}
