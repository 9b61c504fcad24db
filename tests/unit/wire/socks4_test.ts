import assert from "node:assert/strict";
import { PosternError } from "../../../src/words/mod.ts";
import {
  decodeSocks4Reply,
  decodeSocks4Request,
  encodeSocks4Reply,
  encodeSocks4Request,
} from "../../../src/wire/mod.ts";
import { fromHex } from "../../support/hex.ts";

const cases = [
  {
    name: "an address",
    hex: "04 01 0050 c0000201 6d65 00",
    value: { command: 1, target: { host: "192.0.2.1", port: 80 }, user: "me" },
  },
  {
    name: "an address without a user",
    hex: "04 01 0050 c0000201 00",
    value: { command: 1, target: { host: "192.0.2.1", port: 80 }, user: "" },
  },
  {
    name: "a name (4A)",
    hex: "04 01 01bb 00000001 6d65 00 612e62 00",
    value: { command: 1, target: { host: "a.b", port: 443 }, user: "me" },
  },
  {
    name: "[::1] as a name (4A)",
    hex: "04 01 01bb 00000007 00 5b3a3a315d 00",
    value: { command: 1, target: { host: "::1", port: 443 }, user: "" },
  },
  {
    name: "0.0.0.0 as an address",
    hex: "04 02 0000 00000000 00",
    value: { command: 2, target: { host: "0.0.0.0", port: 0 }, user: "" },
  },
];

for (const { name, hex, value } of cases) {
  Deno.test(`decodeSocks4Request() decodes ${name}, and asks for more at every cut`, () => {
    const bytes = fromHex(hex);
    assert.deepEqual(decodeSocks4Request(bytes), { value, used: bytes.length });
    assert.deepEqual(decodeSocks4Request(Uint8Array.of(...bytes, 9)), { value, used: bytes.length });
    for (let cut = 0; cut < bytes.length; cut++) {
      assert.equal(decodeSocks4Request(bytes.subarray(0, cut)), undefined);
    }
  });
}

for (
  const { name, hex } of [
    { name: "another version", hex: "05 01" },
    { name: "an empty name", hex: "04 01 01bb 00000001 00 00" },
    { name: "an unterminated user id", hex: `04 01 01bb 7f000001 ${"61".repeat(256)}` },
    { name: "an unterminated name", hex: `04 01 01bb 00000001 00 ${"61".repeat(256)}` },
  ]
) {
  Deno.test(`decodeSocks4Request() rejects ${name}`, () => {
    assert.throws(
      () => decodeSocks4Request(fromHex(hex)),
      (error) => error instanceof PosternError && error.code === "protocol",
    );
  });
}

Deno.test("decodeSocks4Request() decodes encodeSocks4Request() output", () => {
  for (const host of ["192.0.2.1", "a.example", "2001:db8::1"]) {
    const request = { command: 1, target: { host, port: 443 }, user: "me" };
    const bytes = encodeSocks4Request(request);
    assert.deepEqual(decodeSocks4Request(bytes), { value: request, used: bytes.length });
  }
});

Deno.test("decodeSocks4Reply() decodes encodeSocks4Reply() output", () => {
  assert.deepEqual(decodeSocks4Reply(encodeSocks4Reply(0x5a)), { value: 0x5a, used: 8 });
});
