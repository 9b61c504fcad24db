import assert from "node:assert/strict";
import { hexText, jsonIn, plainText } from "../../../src/core/mod.ts";

Deno.test("jsonIn() gives nothing of what is no JSON", () => {
  assert.deepEqual(jsonIn('{"a":[1]}'), { a: [1] });
  assert.deepEqual(jsonIn(new TextEncoder().encode("null")), null);
  for (const text of ["", "<html>", '{"a":']) assert.equal(jsonIn(text), undefined);
});

Deno.test("hexText() writes two digits for each byte", () => {
  assert.equal(hexText(Uint8Array.of(0, 10, 255)), "000aff");
});

Deno.test("plainText() leaves nothing that could write over a terminal, and not much of anything", () => {
  assert.equal(plainText("a \x1b[2Jb\r\nc\u00e9"), "a ?[2Jb??c?");
  assert.equal(plainText("x".repeat(1000)).length, 200);
  assert.equal(plainText("abc", { limit: 2 }), "ab");
});
