import assert from "node:assert/strict";
import { PosternError } from "../../../src/words/mod.ts";
import { Cursor, decoder, malformed } from "../../../src/wire/decoder.ts";

const bytes = Uint8Array.of(1, 2, 3, 4, 0, 6);

Deno.test("Cursor reads numbers, views and terminated fields in order", () => {
  const cursor = new Cursor(bytes);
  assert.equal(cursor.u8(), 1);
  assert.equal(cursor.u16(), 0x0203);
  assert.deepEqual(cursor.takeUntil(0, 10), Uint8Array.of(4));
  assert.equal(cursor.used, 5);
  assert.deepEqual(cursor.take(1), Uint8Array.of(6));
});

for (
  const { name, read } of [
    { name: "u8()", read: (cursor: Cursor) => (cursor.take(6), cursor.u8()) },
    { name: "u16()", read: (cursor: Cursor) => (cursor.take(5), cursor.u16()) },
    { name: "take()", read: (cursor: Cursor) => cursor.take(7) },
    { name: "takeUntil()", read: (cursor: Cursor) => cursor.takeUntil(9, 6) },
  ]
) {
  Deno.test(`decoder() asks for more bytes when ${name} runs out`, () => {
    assert.equal(decoder<unknown>(read)(bytes), undefined);
  });
}

Deno.test("decoder() throws faults, including a field that is too long", () => {
  const isProtocol = (error: unknown) => error instanceof PosternError && error.code === "protocol";
  assert.throws(() => decoder((cursor) => cursor.takeUntil(9, 5))(bytes), isProtocol);
  assert.throws(() => decoder((cursor) => cursor.takeUntil(0, 3))(bytes), isProtocol);
  assert.throws(() =>
    decoder(() => {
      throw malformed("x");
    })(bytes), isProtocol);
});
