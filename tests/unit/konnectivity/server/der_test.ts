import assert from "node:assert/strict";
import { der, readDer } from "../../../../src/konnectivity/server/der.ts";
import { fromHex, toHex } from "../../../support/hex.ts";

const bytes = (hex: string) => fromHex(hex);
// Examples of X.690 and RFC 5280.
const cases = [
  { name: "a small number", value: der.integer(bytes("02")), hex: "020102" },
  { name: "a number with its highest bit set", value: der.integer(bytes("0080")), hex: "02020080" },
  { name: "zero", value: der.integer(bytes("0000")), hex: "020100" },
  { name: "true", value: der.boolean(true), hex: "0101ff" },
  { name: "an object id", value: der.objectId("1.2.840.10045.4.3.2"), hex: "06082a8648ce3d040302" },
  { name: "bits", value: der.bitString(bytes("80"), 7), hex: "03020780" },
  {
    name: "a time before 2050",
    value: der.time(new Date("2049-12-31T23:59:58.9Z")),
    hex: "170d3439313233313233353935385a",
  },
  {
    name: "a time after 2049",
    value: der.time(new Date("2050-01-01T00:00:00Z")),
    hex: "180f32303530303130313030303030305a",
  },
  { name: "nested values", value: der.sequence(der.boolean(false), der.set()), hex: "30050101003100" },
  { name: "a context tag", value: der.context(3, bytes("aa"), { isConstructed: true }), hex: "a301aa" },
];
for (const { name, value, hex } of cases) {
  Deno.test(`der encodes ${name}, and readDer() decodes it`, () => {
    assert.equal(toHex(value), hex);
    const [read, ...others] = readDer(value);
    assert.deepEqual(read?.whole, value);
    assert.deepEqual(others, []);
  });
}

for (const length of [0, 127, 128, 255, 256, 70_000]) {
  Deno.test(`readDer() reads ${length} bytes and rejects a truncated value`, () => {
    const content = new Uint8Array(length).fill(7);
    const value = der.octetString(content);
    assert.deepEqual(readDer(value)[0]?.content, content);
    for (const cut of [1, 2, value.length - 1]) {
      if (cut < value.length) {
        assert.throws(() => readDer(value.subarray(0, cut)), { code: "protocol" });
      }
    }
  });
}

for (const hex of ["30", "3080", "3085ffffffffff", "1f8101", "0203"]) {
  Deno.test(`readDer() rejects ${hex}`, () => assert.throws(() => readDer(bytes(hex)), { code: "protocol" }));
}
