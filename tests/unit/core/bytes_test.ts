import assert from "node:assert/strict";
import {
  decodeBase64,
  encodeBase64,
  hexText,
  isSameBytes,
  joinBytes,
  pemBlock,
  sha256,
} from "../../../src/core/mod.ts";

Deno.test("joinBytes() keeps the order, and copies", () => {
  const first = Uint8Array.of(1, 2);
  const whole = joinBytes([first, new Uint8Array(), Uint8Array.of(3)]);
  first[0] = 9;
  assert.deepEqual(whole, Uint8Array.of(1, 2, 3));
  assert.deepEqual(joinBytes([]), new Uint8Array());
});

Deno.test("isSameBytes() compares length and content", () => {
  assert(isSameBytes(Uint8Array.of(1, 2), [1, 2]));
  assert(!isSameBytes([1, 2], [1, 2, 0]));
  assert(!isSameBytes([1, 2], [1, 3]));
});

Deno.test("decodeBase64() accepts blanks and missing padding, and rejects other text", () => {
  assert.deepEqual(decodeBase64(" AAr/\n"), Uint8Array.of(0, 10, 255));
  assert.deepEqual(decodeBase64("AAo"), Uint8Array.of(0, 10));
  for (const text of ["A", "A-A_", "ä", "=AA"]) assert.equal(decodeBase64(text), undefined);
});

Deno.test("encodeBase64() accepts more bytes than a call can have arguments", () => {
  const bytes = new Uint8Array(200_000).fill(255);
  assert.deepEqual(decodeBase64(encodeBase64(bytes)), bytes);
});

Deno.test("pemBlock() breaks lines after 64 characters, and ends without an empty line", () => {
  const line = "A".repeat(64);
  assert.equal(pemBlock("X", `${line}${line}`), `-----BEGIN X-----\n${line}\n${line}\n-----END X-----\n`);
  assert.equal(pemBlock("X", `${line}AAAA`), `-----BEGIN X-----\n${line}\nAAAA\n-----END X-----\n`);
});

Deno.test("sha256() encodes a text as UTF-8", async () => {
  const sum = "33e6d73fee82904c8d7afb78de1154d1e8dc2a0edb08120e63df5b9385c2d9cc";
  assert.equal(hexText(await sha256("ä")), sum);
  assert.equal(hexText(await sha256(Uint8Array.of(0xc3, 0xa4))), sum);
});
