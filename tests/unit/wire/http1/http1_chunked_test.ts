import assert from "node:assert/strict";
import { ChunkedDecoder, encodeChunk, encodeLastChunk, Http1Problem } from "../../../../src/wire/mod.ts";
import { latin1Bytes } from "../../../../src/wire/http1/http1_text.ts";

const decoder = new TextDecoder();

/** Decodes pieces like a reader that keeps unused bytes. */
function decodeAll(pieces: readonly string[]): { data: string; trailers?: [string, string][]; rest: string } {
  const chunked = new ChunkedDecoder();
  let held = "";
  let data = "";
  for (const piece of pieces) {
    held += piece;
    while (true) {
      const step = chunked.next(latin1Bytes(held));
      if (!step) break;
      held = held.slice(step.used);
      if (step.value.kind === "end") return { data, trailers: [...step.value.trailers], rest: held };
      data += decoder.decode(step.value.bytes);
    }
  }
  return { data, rest: held };
}

const bodies = [
  { name: "two chunks", text: "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", data: "hello world", trailers: [] },
  { name: "an empty body", text: "0\r\n\r\n", data: "", trailers: [] },
  { name: "extensions", text: '2;a=b;c="d"\r\nhi\r\n0;x\r\n\r\n', data: "hi", trailers: [] },
  { name: "a padded size", text: "002  \r\nhi\r\n000\r\n\r\n", data: "hi", trailers: [] },
  {
    name: "upper case and trailers",
    text: "A\r\n0123456789\r\n0\r\nX: 1\r\ny: 2\r\n\r\n",
    data: "0123456789",
    trailers: [["X", "1"], ["y", "2"]],
  },
];
for (const { name, text, data, trailers } of bodies) {
  Deno.test(`ChunkedDecoder.next() decodes ${name}, whole and byte by byte`, () => {
    for (const pieces of [[`${text}next`], [...text, "next"]]) {
      assert.deepEqual(decodeAll(pieces), { data, trailers, rest: pieces.length === 1 ? "next" : "" });
    }
  });
}

Deno.test("ChunkedDecoder.next() returns the available part of a chunk", () => {
  assert.deepEqual(decodeAll(["a\r\n0123"]), { data: "0123", rest: "" });
});

const malformed = [
  "\r\n",
  "x\r\n",
  "-1\r\n",
  "0x5\r\nhello\r\n",
  " 5\r\nhello\r\n",
  "5\nhello\r\n",
  "5\r\nhelloX",
  "5\r\nhello\rX",
  "5\r\nhello\n",
  "5 x\r\nhello\r\n",
  "5;a\0b\r\nhello\r\n",
  "ffffffffffffff\r\n",
  `5;${"x".repeat(300)}`,
  `5;${"x".repeat(300)}\r\nhello`,
  "0\r\nX: 1\n\r\n",
  "0\r\n X: 1\r\n\r\n",
  `0\r\nX: ${"1".repeat(17000)}`,
  `0\r\n${"x: 1\r\n".repeat(201)}\r\n`,
];
for (const text of malformed) {
  Deno.test(`ChunkedDecoder.next() rejects ${JSON.stringify(text.slice(0, 40))}`, () => {
    assert.throws(() => decodeAll([text]), Http1Problem);
    assert.throws(() => decodeAll([...text]), Http1Problem);
  });
}

Deno.test("ChunkedDecoder rejects a malformed response body with 502", () => {
  assert.throws(
    () => new ChunkedDecoder(502).next(latin1Bytes("x\r\n")),
    (error) => error instanceof Http1Problem && error.status === 502,
  );
});

Deno.test("ChunkedDecoder decodes encodeChunk() and encodeLastChunk() output", () => {
  const text = decoder.decode(encodeChunk(latin1Bytes("hello"))) +
    decoder.decode(encodeLastChunk([["X", "1"]]));
  assert.equal(text, "5\r\nhello\r\n0\r\nX: 1\r\n\r\n");
  assert.deepEqual(decodeAll([text]), { data: "hello", trailers: [["X", "1"]], rest: "" });
});
