import assert from "node:assert/strict";
import { printable, printableLines } from "../../../../src/cli/output/printable.ts";

const texts: readonly (readonly [string, string])[] = [
  ["plain", "plain"],
  ["grüezi 中文 🚪", "grüezi 中文 🚪"],
  ["\u0000\t\r\n\u007f\u009b", "\\u{0}\\u{9}\\u{d}\\u{a}\\u{7f}\\u{9b}"],
  ["a\u202eb\u2066c\u2028", "a\\u{202e}b\\u{2066}c\\u{2028}"],
];

for (const [text, safe] of texts) {
  Deno.test(`printable() of ${JSON.stringify(text)}`, () => assert.equal(printable(text), safe));
}

Deno.test("printableLines() keeps line breaks and escapes other control characters", () => {
  assert.equal(printableLines("a\r\n\tb\n"), "a\\u{d}\n\\u{9}b\n");
});
