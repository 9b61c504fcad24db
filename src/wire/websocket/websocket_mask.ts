/**
 * Masks or unmasks bytes in place with a four-byte key; `from` is the position in the key (RFC 6455, section
 * 5.3). Processes aligned bytes four at a time.
 */
export function applyMask(bytes: Uint8Array<ArrayBuffer>, key: Uint8Array, from: number): void {
  let at = 0;
  const toWord = Math.min(bytes.length, (4 - bytes.byteOffset % 4) % 4);
  for (; at < toWord; at++) maskByte(bytes, at, key, from);
  const words = (bytes.length - at) >> 2;
  if (words > 0) {
    const turned = new Uint8Array(4);
    for (let index = 0; index < 4; index++) turned[index] = key[(from + at + index) & 3] ?? 0;
    const word = new Int32Array(turned.buffer)[0] ?? 0;
    const view = new Int32Array(bytes.buffer, bytes.byteOffset + at, words);
    for (let index = 0; index < words; index++) view[index] = (view[index] as number) ^ word;
    at += words * 4;
  }
  for (; at < bytes.length; at++) maskByte(bytes, at, key, from);
}

/** Returns an unpredictable key; generates many at once, because each system call is expensive. */
export function nextMaskKey(): Uint8Array<ArrayBuffer> {
  if (used === keys.length) {
    crypto.getRandomValues(keys);
    used = 0;
  }
  const key = keys.slice(used, used + 4);
  used += 4;
  return key;
}

function maskByte(bytes: Uint8Array, at: number, key: Uint8Array, from: number): void {
  bytes[at] = (bytes[at] as number) ^ (key[(from + at) & 3] as number);
}

const keys = new Uint8Array(1024);
let used = keys.length;
