import assert from "node:assert/strict";
import type { HeaderField } from "../../../../src/wire/mod.ts";
import { HpackDecoder, HpackEncoder } from "../../../../src/wire/http2/hpack.ts";
import { huffmanDecode, huffmanEncode } from "../../../../src/wire/http2/huffman.ts";
import { fromHex, toHex } from "../../../support/hex.ts";

const limit = 64 * 1024;

const first: HeaderField[] = [
  [":method", "GET"],
  [":scheme", "http"],
  [":path", "/"],
  [":authority", "www.example.com"],
];
const second: HeaderField[] = [...first, ["cache-control", "no-cache"]];
const third: HeaderField[] = [
  [":method", "GET"],
  [":scheme", "https"],
  [":path", "/index.html"],
  [":authority", "www.example.com"],
  ["custom-key", "custom-value"],
];

// RFC 7541, appendices C.3 and C.4: three requests on one connection.
for (
  const { name, blocks } of [
    {
      name: "plain",
      blocks: [
        "828684410f7777772e6578616d706c652e636f6d",
        "828684be58086e6f2d6361636865",
        "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
      ],
    },
    {
      name: "with Huffman codes",
      blocks: [
        "828684418cf1e3c2e5f23a6ba0ab90f4ff",
        "828684be5886a8eb10649cbf",
        "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
      ],
    },
  ]
) {
  Deno.test(`HpackDecoder decodes the requests of the RFC, ${name}`, () => {
    const decoder = new HpackDecoder();
    for (const [at, fields] of [first, second, third].entries()) {
      assert.deepEqual(decoder.decode(fromHex(blocks[at] ?? ""), limit), { fields, isTooLarge: false });
    }
  });
}

Deno.test("HpackEncoder encodes the requests of the RFC", () => {
  const encoder = new HpackEncoder();
  const written = [first, second, third].map((fields) => toHex(encoder.encode(fields)));
  assert.deepEqual(written, [
    "828684418cf1e3c2e5f23a6ba0ab90f4ff",
    "828684be5886a8eb10649cbf",
    "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
  ]);
});

// RFC 7541, appendix C.6: responses with a table of 256 bytes, which evicts fields.
Deno.test("HpackDecoder evicts fields that do not fit into its table", () => {
  const decoder = new HpackDecoder();
  const answers = [
    [
      "3fe101" +
      "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3",
      ["302", "private", "Mon, 21 Oct 2013 20:13:21 GMT", "https://www.example.com"],
    ],
    ["4883640effc1c0bf", ["307", "private", "Mon, 21 Oct 2013 20:13:21 GMT", "https://www.example.com"]],
    [
      "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
      [
        "200",
        "private",
        "Mon, 21 Oct 2013 20:13:22 GMT",
        "https://www.example.com",
        "gzip",
        "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
      ],
    ],
  ] as const;
  for (const [hex, values] of answers) {
    assert.deepEqual(decoder.decode(fromHex(hex), limit).fields.map(([, value]) => value), values);
  }
});

for (
  const { name, hex } of [
    { name: "an index outside the tables", hex: "be" },
    { name: "field 0", hex: "80" },
    { name: "a name index outside the tables", hex: "7f0001" },
    { name: "an end inside a name", hex: "40056162" },
    { name: "an end inside a number", hex: "7fff" },
    { name: "a number with five more bytes", hex: "7fffffffffff07" },
    { name: "a table larger than allowed", hex: "3fe2ffff03" },
    { name: "a table size after a field", hex: "8220" },
    { name: "three table sizes", hex: "20212282" },
    { name: "a Huffman code padded with zeros", hex: "0081f001" + "00" },
    { name: "a Huffman code with eight bits too many", hex: "0082f8ff00" },
    { name: "the end mark inside a Huffman code", hex: "0084ffffffff00" },
  ]
) {
  Deno.test(`HpackDecoder rejects ${name}`, () => {
    assert.throws(() => new HpackDecoder().decode(fromHex(hex), limit), { code: "protocol" });
  });
}

Deno.test("HpackDecoder keeps its table correct after an oversized list", () => {
  const encoder = new HpackEncoder();
  const decoder = new HpackDecoder();
  const large: HeaderField[] = [["a", "1"], ["b", "x".repeat(1500)], ["c", "3"]];
  const { fields, isTooLarge } = decoder.decode(encoder.encode(large), 200);
  assert.deepEqual([fields, isTooLarge], [[["a", "1"]], true]);
  assert.deepEqual(decoder.decode(encoder.encode(large), limit).fields, large);
});

Deno.test("HpackEncoder marks secrets as never indexed", () => {
  const block = new HpackEncoder().encode([["authorization", "Bearer x"]]);
  assert.equal((block[0] ?? 0) & 0xf0, 0x10);
});

Deno.test("HpackEncoder sends the smallest and the last size of a table that changed twice", () => {
  const encoder = new HpackEncoder();
  const decoder = new HpackDecoder();
  decoder.decode(encoder.encode(third), limit);
  encoder.limitTable(0);
  encoder.limitTable(100);
  const block = encoder.encode(third);
  assert.equal(toHex(block.subarray(0, 3)), "203f45");
  assert.deepEqual(decoder.decode(block, limit).fields, third);
});

Deno.test("huffmanDecode() decodes the code of every byte", () => {
  const all = Uint8Array.from({ length: 256 }, (_, at) => at);
  for (let at = 0; at < 256; at++) {
    const some = all.subarray(at, at + 1 + at % 5);
    assert.deepEqual(huffmanDecode(huffmanEncode(some)), some);
  }
  assert.deepEqual(huffmanDecode(huffmanEncode(all)), all);
});
