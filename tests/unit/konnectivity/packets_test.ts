import assert from "node:assert/strict";
import { decodePacket, encodePacket, type Packet } from "../../../src/konnectivity/packets.ts";
import { fromHex, toHex } from "../../support/hex.ts";

type Known = Exclude<Packet, { type: "unknown" }>;

// The bytes come from protoc for the same packets (tests/interop/konnectivity_packets_test.ts).
const cases: { name: string; packet: Known; hex: string }[] = [
  {
    name: "a dial request",
    packet: { type: "dialRequest", protocol: "tcp", address: "10.0.0.1:80", random: 5n },
    hex: "1214 0a03746370 120b31302e302e302e313a3830 1805",
  },
  {
    name: "a dial response",
    packet: { type: "dialResponse", error: "", connectId: 7n, random: 0x7fff_ffff_ffff_ffffn },
    hex: "0801 1a0c 1007 18ffffffffffffffff7f",
  },
  {
    name: "a dial response with an error",
    packet: { type: "dialResponse", error: "no", connectId: 0n, random: 5n },
    hex: "0801 1a06 0a026e6f 1805",
  },
  { name: "a close request", packet: { type: "closeRequest", connectId: 300n }, hex: "0802 2a03 08ac02" },
  {
    name: "a close response",
    packet: { type: "closeResponse", error: "x", connectId: 1n },
    hex: "0803 3205 0a0178 1001",
  },
  {
    name: "data",
    packet: { type: "data", connectId: 1n, error: "", data: Uint8Array.of(1, 2, 3) },
    hex: "0804 2207 0801 1a03010203",
  },
  {
    name: "a canceled dial",
    packet: { type: "closeDial", random: -1n },
    hex: "0805 3a0b 08ffffffffffffffffff01",
  },
  { name: "an agent's drain", packet: { type: "drain" }, hex: "0806 4200" },
];

for (const { name, packet, hex } of cases) {
  Deno.test(`encodePacket() and decodePacket() agree on ${name}`, () => {
    assert.equal(toHex(encodePacket(packet)), hex.replaceAll(" ", ""));
    assert.deepEqual(decodePacket(fromHex(hex)), packet);
    assert.equal(toHex(encodePacket(packet, 5)).slice(0, 10), "0000000000");
  });
}

Deno.test("decodePacket() treats missing fields as zero or empty", () => {
  assert.deepEqual(decodePacket(fromHex("")), {
    type: "dialRequest",
    protocol: "",
    address: "",
    random: 0n,
  });
  assert.deepEqual(decodePacket(fromHex("0802")), { type: "closeRequest", connectId: 0n });
});

Deno.test("decodePacket() ignores unknown fields and packet types", () => {
  assert.deepEqual(decodePacket(fromHex("9a0102ffff 7d01020304 790102030405060708 0806")), {
    type: "drain",
  });
  assert.deepEqual(decodePacket(fromHex("0863")), { type: "unknown", number: 99n });
});

Deno.test("decodePacket() keeps the last content and merges contents of one type", () => {
  const both = { type: "dialRequest", protocol: "tcp", address: "a:1", random: 0n };
  assert.deepEqual(decodePacket(fromHex("1205 0a03746370 1205 1203613a31")), both);
  assert.deepEqual(decodePacket(fromHex("1205 0a03746370 2a00 1205 1203613a31")), {
    ...both,
    protocol: "",
  });
  assert.deepEqual(decodePacket(fromHex("0802 2a02 0805 1205 0a03746370")), {
    type: "closeRequest",
    connectId: 0n,
  });
});

Deno.test("decodePacket() keeps a byte order mark and reads the type as 32 bits", () => {
  const packet = decodePacket(fromHex("088080808010 1205 0a03efbbbf"));
  assert.deepEqual(packet, { type: "dialRequest", protocol: "\ufeff", address: "", random: 0n });
});

for (
  const { name, hex } of [
    { name: "a number of 65 bits", hex: "08ffffffffffffffffff02" },
    { name: "an end within a number", hex: "08ff" },
    { name: "a number of eleven bytes", hex: "08ffffffffffffffffffff01" },
    { name: "an end within a field", hex: "0804 2209 0801" },
    { name: "a length of 2^63", hex: "22ffffffffffffffff7f" },
    { name: "a group", hex: "0b" },
    { name: "field 0", hex: "0001" },
    { name: "content that is not a message", hex: "0804 2201ff" },
  ]
) {
  Deno.test(`decodePacket() rejects ${name}`, () => {
    assert.throws(() => decodePacket(fromHex(hex)), { code: "protocol" });
  });
}
