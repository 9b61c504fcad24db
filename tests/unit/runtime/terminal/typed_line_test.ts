import assert from "node:assert/strict";
import { type Typed, TypedLine } from "../../../../src/runtime/terminal/typed_line.ts";

/** The line after its bytes arrived in pieces of this size. */
function typed(text: string, { size = Infinity, limit }: { size?: number; limit?: number } = {}): Typed {
  const line = new TypedLine(limit === undefined ? {} : { limit });
  const bytes = new TextEncoder().encode(text);
  let shown = "";
  for (let at = 0; at < bytes.length; at += size) {
    const part = line.take(bytes.subarray(at, Math.min(at + size, bytes.length)));
    shown += part.shown;
    if (part.end) return { shown, end: part.end };
  }
  return { shown };
}

const cases: readonly { name: string; keys: string; text: string | undefined; shown?: string }[] = [
  { name: "a word", keys: "secret\r", text: "secret", shown: "secret" },
  { name: "only Enter", keys: "\r", text: "", shown: "" },
  { name: "a line feed", keys: "secret\n", text: "secret" },
  { name: "letters of several bytes", keys: "pässwört €🔑\r", text: "pässwört €🔑", shown: "pässwört €🔑" },
  { name: "a deleted character", keys: "ab\x7fc\r", text: "ac", shown: "ab\b \bc" },
  { name: "a deleted character of several bytes", keys: "a€\bb🔑\x7f\r", text: "ab" },
  { name: "more deletions than characters", keys: "a\x7f\x7f\x7fb\r", text: "b", shown: "a\b \bb" },
  { name: "a deleted line", keys: "wrong\x15right\r", text: "right" },
  { name: "spaces, kept", keys: " a b \r", text: " a b " },
  { name: "arrow keys", keys: "a\x1b[Db\x1b[1;5Cc\x1bOPd\r", text: "abcd" },
  { name: "a pasted text with its brackets", keys: "\x1b[200~secret\x1b[201~\r", text: "secret" },
  { name: "other control characters", keys: "a\0\x01\tb\x1f\x85c\r", text: "abc", shown: "abc" },
  { name: "a paste of several lines: only the first", keys: "one\rtwo\rthree\r", text: "one", shown: "one" },
  { name: "the end of input after a text", keys: "text\x04", text: "text" },
  { name: "no end yet", keys: "text", text: undefined, shown: "text" },
  { name: "invalid UTF-8 in a text", keys: "a\ufffdb\r", text: "a\ufffdb" },
];
for (const { name, keys, text, shown } of cases) {
  Deno.test(`TypedLine.take() reads ${name}, at every cut`, () => {
    for (const size of [Infinity, 1, 2, 3]) {
      const found = typed(keys, { size });
      assert.deepEqual(found.end, text === undefined ? undefined : { kind: "line", text });
      if (shown !== undefined) assert.equal(found.shown, shown);
    }
  });
}

Deno.test("TypedLine.take() reports the end of input and the interrupt key", () => {
  assert.deepEqual(typed("\x04").end, { kind: "end" });
  assert.deepEqual(typed("a\x15\x04").end, { kind: "end" });
  assert.deepEqual(typed("secr\x03et\r").end, { kind: "interrupted" });
});

Deno.test("TypedLine.take() ignores characters beyond its limit", () => {
  assert.deepEqual(typed("abcdef\r", { limit: 4 }).end, { kind: "line", text: "abcd" });
  assert.deepEqual(typed("abcdef\x7fx\r", { limit: 4 }).end, { kind: "line", text: "abcx" });
  assert.deepEqual(typed(`${"🔑".repeat(5000)}\r`, { size: 7 }).end, {
    kind: "line",
    text: "🔑".repeat(1024),
  });
});

Deno.test("TypedLine.take() finds the end after broken UTF-8", () => {
  const line = new TypedLine();
  assert.deepEqual(line.take(Uint8Array.of(0x61, 0xe2, 0x82)), { shown: "a" });
  assert.deepEqual(line.take(Uint8Array.of(0x0d)).end, { kind: "line", text: "a\ufffd" });
});
