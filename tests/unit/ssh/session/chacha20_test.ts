import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createCipheriv } from "node:crypto";
import { ChaCha20 } from "../../../../src/ssh/session/chacha20.ts";
import {
  ChaChaPolyCipher,
  ChaChaPolyDecipher,
  type ChaChaTools,
} from "../../../../src/ssh/session/chacha20_poly1305.ts";
import { patternBytes } from "../../../support/pattern_bytes.ts";

const key = patternBytes(32, 3);

/** A checksum that detects a changed byte; the real Poly1305 is tested against sshd. */
const tools: ChaChaTools = {
  createCipheriv,
  poly1305: (head, body, key) => {
    const sum = new Uint8Array(16);
    for (const bytes of [head, body, key]) {
      bytes.forEach((byte, at) => sum[at % 16] = ((sum[at % 16] ?? 0) * 31 + byte + at) & 255);
    }
    return sum;
  },
};

Deno.test("ChaCha20 produces the same key stream as the system's cipher", () => {
  for (const [counter, sequence] of [[0, 0], [1, 3], [7, 0x01020304], [1, 0xffffffff]] as const) {
    const iv = Buffer.alloc(16);
    iv.writeUInt32LE(counter, 0);
    iv.writeUInt32BE(sequence, 12);
    const system = createCipheriv("chacha20", key, iv);
    const stream = new Uint8Array(system.update(Buffer.alloc(200)));
    system.final();
    const bytes = new Uint8Array(200);
    new ChaCha20(key).apply(bytes, counter, sequence);
    assert.deepEqual(bytes, stream);
  }
});

/** Encrypts payloads, then decrypts the result in pieces of a size. */
function passed(payloads: readonly Uint8Array[], piece: number): Uint8Array[] {
  const sealed: number[] = [];
  const keys = { main: key, lengths: patternBytes(32, 4), sequence: 0xfffffffe };
  const cipher = new ChaChaPolyCipher({ ...keys, write: (bytes) => sealed.push(...bytes) }, tools);
  for (const payload of payloads) {
    const packet = cipher.allocPacket(payload.length);
    packet.set(payload, 5);
    cipher.encrypt(new Uint8Array(packet.buffer as ArrayBuffer, packet.byteOffset, packet.length));
  }
  const seen: Uint8Array[] = [];
  const onPayload = (payload: Uint8Array) => void seen.push(new Uint8Array(payload));
  const decipher = new ChaChaPolyDecipher({ ...keys, onPayload }, tools);
  const bytes = Uint8Array.from(sealed);
  for (let at = 0; at < bytes.length; at += piece) {
    const part = bytes.slice(at, at + piece);
    decipher.decrypt(part, 0, part.length);
    // The reader may reuse the buffer.
    part.fill(0);
  }
  return seen;
}

for (const piece of [1, 3, 100, 511, 1_000_000]) {
  Deno.test(`ChaChaPolyDecipher opens what ChaChaPolyCipher seals, in pieces of ${piece}`, () => {
    const sizes = piece === 1 ? [0, 1, 600] : [0, 1, 7, 8, 9, 490, 600, 32_768, 5];
    const payloads = sizes.map((size, at) => patternBytes(size, at));
    assert.deepEqual(passed(payloads, piece), payloads);
  });
}

Deno.test("ChaChaPolyDecipher rejects a packet with any changed byte", () => {
  const sealed: number[] = [];
  const keys = { main: key, lengths: patternBytes(32, 4), sequence: 5 };
  const cipher = new ChaChaPolyCipher({ ...keys, write: (bytes) => sealed.push(...bytes) }, tools);
  const packet = cipher.allocPacket(20);
  cipher.encrypt(new Uint8Array(packet.buffer as ArrayBuffer, packet.byteOffset, packet.length));
  for (let at = 4; at < sealed.length; at++) {
    const bytes = Uint8Array.from(sealed);
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    const decipher = new ChaChaPolyDecipher({ ...keys, onPayload: () => assert.fail("opened") }, tools);
    assert.throws(() => decipher.decrypt(bytes, 0, bytes.length), /Invalid MAC/);
  }
});
