import { Buffer } from "node:buffer";
import type { createCipheriv } from "node:crypto";
import { ChaCha20 } from "./chacha20.ts";

/** A one-time authenticator over a short and a long part. */
export type Poly1305 = (head: Uint8Array, body: Uint8Array, key: Uint8Array) => Uint8Array;

export interface ChaChaTools {
  readonly poly1305: Poly1305;
  readonly createCipheriv: typeof createCipheriv;
}

/**
 * chacha20-poly1305@openssh.com (PROTOCOL.chacha20poly1305) with the interface of ssh2's ciphers, which it
 * replaces. ssh2's own starts three system ciphers per packet and finishes none, so Deno leaks them. This is
 * also the only fast cipher in Deno's crypto.
 */
export class ChaChaPolyCipher {
  /** ssh2's name. */
  outSeqno: number;
  readonly #main: ChaCha20;
  readonly #lengths: ChaCha20;
  readonly #key: Uint8Array;
  readonly #write: (bytes: Uint8Array) => void;
  readonly #tools: ChaChaTools;
  readonly #padding = new Uint8Array(4096);
  #paddingUsed = this.#padding.length;
  /** One buffer for all packets: each is filled and encrypted before the next one. */
  #packet = Buffer.allocUnsafeSlow(1024);
  #isFreed = false;

  constructor(
    { main, lengths, sequence, write }: {
      main: Uint8Array;
      lengths: Uint8Array;
      sequence: number;
      write: (bytes: Uint8Array) => void;
    },
    tools: ChaChaTools,
  ) {
    this.#key = main;
    this.#main = new ChaCha20(main);
    this.#lengths = new ChaCha20(lengths);
    this.outSeqno = sequence;
    this.#write = write;
    this.#tools = tools;
  }

  free(): void {
    this.#isFreed = true;
  }

  allocPacket(payload: number): Buffer {
    let padding = 8 - (1 + payload & 7);
    if (padding < 4) padding += 8;
    const length = 1 + payload + padding;
    const size = 4 + length;
    if (size > this.#packet.length) this.#packet = Buffer.allocUnsafeSlow(Math.max(size, 4 + largest));
    const packet = this.#packet.subarray(0, size);
    packet.writeUInt32BE(length, 0);
    packet[4] = padding;
    packet.set(this.#random(padding), 5 + payload);
    return packet;
  }

  encrypt(packet: Uint8Array<ArrayBuffer>): void {
    if (this.#isFreed) return;
    const sequence = this.outSeqno;
    const head = packet.subarray(0, 4);
    this.#lengths.apply(head, 0, sequence);
    const body = apply(packet.subarray(4), {
      cipher: this.#main,
      key: this.#key,
      sequence,
      tools: this.#tools,
    });
    const polyKey = this.#main.block(0, sequence).subarray(0, 32);
    this.#write(head);
    this.#write(body);
    this.#write(this.#tools.poly1305(head, body, polyKey));
    this.outSeqno = sequence + 1 >>> 0;
  }

  #random(count: number): Uint8Array {
    if (this.#paddingUsed + count > this.#padding.length) {
      crypto.getRandomValues(this.#padding);
      this.#paddingUsed = 0;
    }
    this.#paddingUsed += count;
    return this.#padding.subarray(this.#paddingUsed - count, this.#paddingUsed);
  }
}

/** The decipher, with the interface of ssh2's. */
export class ChaChaPolyDecipher {
  /** ssh2's name, like the next one; a key exchange replaces the deciphers. */
  inSeqno: number;
  _onPayload: (payload: Buffer) => unknown;
  readonly #main: ChaCha20;
  readonly #lengths: ChaCha20;
  readonly #key: Uint8Array;
  readonly #tools: ChaChaTools;
  /** The received part of an incomplete packet. */
  #part = new Uint8Array(0);
  #partLength = 0;
  #length = -1;

  constructor(
    { main, lengths, sequence, onPayload }: {
      main: Uint8Array;
      lengths: Uint8Array;
      sequence: number;
      onPayload: (payload: Buffer) => unknown;
    },
    tools: ChaChaTools,
  ) {
    this.#key = main;
    this.#main = new ChaCha20(main);
    this.#lengths = new ChaCha20(lengths);
    this.inSeqno = sequence;
    this._onPayload = onPayload;
    this.#tools = tools;
  }

  free(): void {
    this.#part = new Uint8Array(0);
  }

  /** Decrypts received bytes. As in ssh2, returns where to continue when a message changes the decipher. */
  decrypt({ buffer, byteOffset }: Uint8Array<ArrayBuffer>, from: number, end: number): number | undefined {
    // A plain Uint8Array: `slice` of a node Buffer returns a view instead of a copy.
    const data = new Uint8Array(buffer, byteOffset, end);
    let at = from;
    while (at < end) {
      const whole = this.#whole(data, at, end);
      if (!whole) return undefined;
      at += whole.used;
      const result = this._onPayload(this.#open(whole.packet));
      if (result !== undefined) return typeof result === "number" ? result : at;
    }
    return undefined;
  }

  /** The next complete packet and how many of the new bytes it took; undefined when bytes are missing. */
  #whole(
    data: Uint8Array<ArrayBuffer>,
    from: number,
    end: number,
  ): { readonly packet: Uint8Array<ArrayBuffer>; readonly used: number } | undefined {
    let at = from;
    if (this.#partLength === 0 && end - at >= 4) {
      this.#length = this.#lengthOf(data.subarray(at, at + 4));
      const size = 4 + this.#length + macLength;
      if (end - at >= size) return { packet: data.subarray(at, at + size), used: size };
    }
    if (this.#partLength < 4) {
      const count = Math.min(4 - this.#partLength, end - at);
      if (this.#part.length < 4) this.#part = new Uint8Array(largest + 4 + macLength);
      this.#part.set(data.subarray(at, at + count), this.#partLength);
      this.#partLength += count;
      at += count;
      if (this.#partLength < 4) return undefined;
      this.#length = this.#lengthOf(this.#part.subarray(0, 4));
    }
    const size = 4 + this.#length + macLength;
    const count = Math.min(size - this.#partLength, end - at);
    this.#part.set(data.subarray(at, at + count), this.#partLength);
    this.#partLength += count;
    if (this.#partLength < size) return undefined;
    this.#partLength = 0;
    return { packet: this.#part.subarray(0, size), used: at + count - from };
  }

  #lengthOf(sealed: Uint8Array<ArrayBuffer>): number {
    const bytes = sealed.slice();
    this.#lengths.apply(bytes, 0, this.inSeqno);
    const length = new DataView(bytes.buffer).getUint32(0);
    if (length > largest || length < 8 || (length & 7) !== 0) throw new Error("Bad packet length");
    return length;
  }

  /** Verifies a packet and returns its payload. */
  #open(packet: Uint8Array<ArrayBuffer>): Buffer {
    const sequence = this.inSeqno;
    const end = packet.length - macLength;
    const body = packet.subarray(4, end);
    const polyKey = this.#main.block(0, sequence).subarray(0, 32);
    if (!isSame(this.#tools.poly1305(packet.subarray(0, 4), body, polyKey), packet.subarray(end))) {
      throw new Error("Invalid MAC");
    }
    // Copy: the received bytes belong to the reader's buffer.
    const short = body.length <= shortest ? body.slice() : body;
    const plain = apply(short, { cipher: this.#main, key: this.#key, sequence, tools: this.#tools });
    this.inSeqno = sequence + 1 >>> 0;
    return Buffer.from(plain.buffer, plain.byteOffset + 1, plain.length - 1 - (plain[0] ?? 0));
  }
}

/** Decrypts or encrypts the body of a packet: a short one in place, a long one with the system's cipher. */
function apply(
  body: Uint8Array<ArrayBuffer>,
  { cipher, key, sequence, tools }: {
    cipher: ChaCha20;
    key: Uint8Array;
    sequence: number;
    tools: ChaChaTools;
  },
): Uint8Array<ArrayBuffer> {
  if (body.length <= shortest) {
    cipher.apply(body, 1, sequence);
    return body;
  }
  const iv = Buffer.alloc(16);
  iv[0] = 1;
  iv.writeUInt32BE(sequence, 12);
  const system = tools.createCipheriv("chacha20", key, iv);
  const { buffer, byteOffset, byteLength } = system.update(body);
  // A stream cipher has no final bytes; the call releases its memory.
  system.final();
  return new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);
}

/** Compares in constant time. */
function isSame(a: Uint8Array, b: Uint8Array): boolean {
  let difference = a.length ^ b.length;
  for (let at = 0; at < a.length; at++) difference |= (a[at] ?? 0) ^ (b[at] ?? 0);
  return difference === 0;
}

const macLength = 16;
/** As in ssh2. */
const largest = 35_000;
/** Up to this size, starting the system's cipher takes longer than our whole run. */
const shortest = 512;
