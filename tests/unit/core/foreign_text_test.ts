import assert from "node:assert/strict";
import {
  escapedMarkup,
  hexText,
  jsonIn,
  percentDecoded,
  plainText,
  withEscapes,
} from "../../../src/core/mod.ts";

Deno.test("jsonIn() returns undefined for invalid JSON", () => {
  assert.deepEqual(jsonIn('{"a":[1]}'), { a: [1] });
  assert.deepEqual(jsonIn(new TextEncoder().encode("null")), null);
  for (const text of ["", "<html>", '{"a":']) assert.equal(jsonIn(text), undefined);
});

Deno.test("hexText() writes two digits for each byte", () => {
  assert.equal(hexText(Uint8Array.of(0, 10, 255)), "000aff");
});

Deno.test("plainText() removes terminal sequences, and limits the length", () => {
  assert.equal(plainText("a \x1b[2Jb\r\nc\u00e9"), "a ?[2Jb??c?");
  assert.equal(plainText("x".repeat(1000)).length, 200);
  assert.equal(plainText("abc", { limit: 2 }), "ab");
});

Deno.test("percentDecoded() returns undefined for an invalid escape", () => {
  assert.equal(percentDecoded("a%20b%C3%A4"), "a bä");
  for (const text of ["%", "%zz", "%ff"]) assert.equal(percentDecoded(text), undefined);
});

Deno.test("withEscapes() escapes each of the characters", () => {
  assert.equal(withEscapes("a\u2028b\u202e", /[\u2028-\u202e]/g), "a\\u2028b\\u202e");
});

Deno.test("escapedMarkup() escapes everything that ends a text or an attribute", () => {
  assert.equal(escapedMarkup(`<a b="c">&'`), "&#60;a b=&#34;c&#34;&#62;&#38;&#39;");
});
