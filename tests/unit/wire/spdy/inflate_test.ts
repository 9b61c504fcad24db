import assert from "node:assert/strict";
import { deflate } from "pako";
import { Inflate } from "../../../../src/wire/spdy/inflate.ts";
import { spdyDictionary } from "../../../../src/wire/spdy/spdy_dictionary.ts";

const hex = (text: string) => Uint8Array.from(text.match(/[0-9a-f]{2}/g) ?? [], (pair) => parseInt(pair, 16));
const inflate = (limit = 64 * 1024) => new Inflate({ dictionary: spdyDictionary(), limit });

Deno.test("spdyDictionary() has the checksum of the SPDY/3 dictionary", () => {
  assert.equal(spdyDictionary().length, 1423);
  const begin = deflate(new Uint8Array(0), { dictionary: spdyDictionary() });
  assert.deepEqual(begin.subarray(2, 6), hex("e3c6a7c2"));
});

/** A stream written by zlib 1.2.13 at level 9 with the SPDY dictionary, flushed after each piece. */
const pieces = [
  { name: "a piece without headers", bytes: "78f9e3c6a7c202a6230600000000ffff", text: "\0\0\0\0" },
  {
    name: "a name from the dictionary",
    bytes: "020246705a2b294a4dcc452a4e1201000000ffff",
    text: "\0\0\0\x01\0\0\0\nstreamtype\0\0\0\x04data",
  },
  {
    name: "references to the previous piece",
    bytes: "c22ac39a0a8a0600000000ffff",
    text: "\0\0\0\x01\0\0\0\nstreamtype\0\0\0\x05error",
  },
  {
    name: "a block with dynamic codes",
    bytes:
      "3cd0db9281000000d05fc99a45214a53512a9a9d488a6a12d2053b4834caa54ce4d3f76dcf271ca04cbbcdd032ec1be98b044a6bc9" +
      "a8fa7c00a4835eb75ef02d015b5d7552eeb1188dcc988e67a268de98bba54cdc9700ec96f6b96a2269187df5c3215aa9b14eeda00e" +
      "95f5970aa7515295df4b8113569f4923bbe79809f933cd8ac9e3a88373f35cc58a40ed27e815af714e7af83338262d0b4d7c3fc56c" +
      "3c0b2f1f7acf95b2775d4aa66d18e1d7b0af0ec64e3eae447e58e023b98d10d2b99beddcfd8bbd2814cee8a9082671d632a1606178" +
      "2913eb7c4ffaad793c863273c0e8542152cb340284483d37a846935d955d81eaca0111cd65755350c0e870cad9d30005e1fe0609e7" +
      "5333a8db54e9bfe80f0000ffff",
    text: String.fromCharCode(
      ...Array.from({ length: 300 }, (_, i) => (i * i * 7 + Math.floor(i / 3)) % 97 + 32),
    ),
  },
  { name: "one byte repeated six hundred times", bytes: "4a1c05a3800600000000ffff", text: "a".repeat(600) },
  { name: "a stored block", bytes: "000300fcff616263 000000ffff", text: "abc" },
];

Deno.test("Inflate inflates a zlib stream piece by piece", () => {
  const stream = inflate();
  for (const { name, bytes, text } of pieces) {
    assert.equal(String.fromCharCode(...stream.take(hex(bytes))), text, name);
  }
});

Deno.test("Inflate resolves references beyond the previous piece", () => {
  const stream = inflate();
  const first = pieces[0]?.bytes ?? "";
  stream.take(hex(first));
  // 32 KiB of other bytes push the dictionary out of the window.
  for (let round = 0; round < 33; round++) {
    const stored = new Uint8Array(5 + 1000);
    stored.set([0, 0xe8, 0x03, 0x17, 0xfc]);
    assert.equal(stream.take(stored).length, 1000);
  }
  assert.equal(new TextDecoder().decode(stream.take(hex("4a1c05a3800600000000ffff"))), "a".repeat(600));
});

const refused = [
  { name: "an invalid zlib stream", bytes: "1234" },
  { name: "another dictionary", bytes: "78f900000001" },
  { name: "a truncated header", bytes: "78f9e3c6" },
  { name: "a block of unknown type", bytes: "78f9e3c6a7c207" },
  { name: "a stored block with a wrong length", bytes: "78f9e3c6a7c2000300fcfe616263" },
  { name: "a truncated stored block", bytes: "78f9e3c6a7c2000300fcff6162" },
  { name: "a truncated block", bytes: "78f9e3c6a7c20202" },
  { name: "a reference before the start", bytes: "789c0202000000ffff" },
];
for (const { name, bytes } of refused) {
  Deno.test(`Inflate rejects ${name}`, () => {
    assert.throws(() => inflate().take(hex(bytes)), { code: "protocol" });
  });
}

Deno.test("Inflate rejects bytes after the end of its stream", () => {
  const stream = inflate();
  const whole = deflate(new TextEncoder().encode("all"), { dictionary: spdyDictionary() });
  assert.equal(new TextDecoder().decode(stream.take(whole)), "all");
  assert.throws(() => stream.take(hex("0000ffff")), { code: "protocol", message: /after its end/ });
});

Deno.test("Inflate limits the inflated size of a piece", () => {
  const stream = inflate(500);
  for (const { bytes } of pieces.slice(0, 3)) stream.take(hex(bytes));
  stream.take(hex(pieces[3]?.bytes ?? ""));
  assert.throws(() => stream.take(hex(pieces[4]?.bytes ?? "")), /inflates to more than 500 bytes/);
});
