import assert from "node:assert/strict";
import type { Decode } from "../../../src/core/mod.ts";
import { PosternError, socks5Reply } from "../../../src/words/mod.ts";
import {
  decodeSocks5Choice,
  decodeSocks5Credentials,
  decodeSocks5Greeting,
  decodeSocks5Reply,
  decodeSocks5Request,
  decodeSocks5Verdict,
  encodeSocks5Credentials,
  encodeSocks5Request,
} from "../../../src/wire/mod.ts";
import { fromHex } from "../../support/hex.ts";

const nameOf255 = "n".repeat(251) + ".com";
const hexOf255 = [...new TextEncoder().encode(nameOf255)].map((byte) => byte.toString(16)).join("");

const messages: { name: string; decode: Decode<unknown>; hex: string; value: unknown }[] = [
  { name: "a greeting", decode: decodeSocks5Greeting, hex: "05 02 00 01", value: { methods: [0, 1] } },
  {
    name: "a greeting without methods",
    decode: decodeSocks5Greeting,
    hex: "05 00",
    value: { methods: [] },
  },
  { name: "a choice", decode: decodeSocks5Choice, hex: "05 ff", value: 255 },
  {
    name: "credentials",
    decode: decodeSocks5Credentials,
    hex: "01 02 6d65 03 70c3bc",
    value: { user: "me", password: "pü" },
  },
  {
    name: "empty credentials",
    decode: decodeSocks5Credentials,
    hex: "01 00 00",
    value: { user: "", password: "" },
  },
  { name: "a good verdict", decode: decodeSocks5Verdict, hex: "01 00", value: true },
  { name: "a bad verdict", decode: decodeSocks5Verdict, hex: "01 01", value: false },
  {
    name: "a request for an IPv4 address",
    decode: decodeSocks5Request,
    hex: "05 01 00 01 c0000201 0050",
    value: { command: 1, target: { host: "192.0.2.1", port: 80 } },
  },
  {
    name: "a request for an IPv6 address",
    decode: decodeSocks5Request,
    hex: "05 01 00 04 20010db8000000000000000000000001 01bb",
    value: { command: 1, target: { host: "2001:db8::1", port: 443 } },
  },
  {
    name: "a request for a name",
    decode: decodeSocks5Request,
    hex: "05 01 00 03 03 612e42 01bb",
    value: { command: 1, target: { host: "a.B", port: 443 } },
  },
  {
    name: "a request for a name of 255 bytes",
    decode: decodeSocks5Request,
    hex: `05 01 00 03 ff ${hexOf255} ffff`,
    value: { command: 1, target: { host: nameOf255, port: 65535 } },
  },
  {
    name: "a request for an IPv4 address sent as a name",
    decode: decodeSocks5Request,
    hex: "05 01 00 03 08 31302e302e302e31 0016",
    value: { command: 1, target: { host: "10.0.0.1", port: 22 } },
  },
  {
    name: "a request for [::1] sent as a name",
    decode: decodeSocks5Request,
    hex: "05 01 00 03 05 5b3a3a315d 0016",
    value: { command: 1, target: { host: "::1", port: 22 } },
  },
  {
    name: "a request for an IPv6 address sent as a name without brackets",
    decode: decodeSocks5Request,
    hex: "05 01 00 03 07 30303a303a3a31 0016",
    value: { command: 1, target: { host: "::1", port: 22 } },
  },
  {
    name: "a BIND request",
    decode: decodeSocks5Request,
    hex: "05 02 00 01 00000000 0000",
    value: { command: 2, target: { host: "0.0.0.0", port: 0 } },
  },
  {
    name: "a reply",
    decode: decodeSocks5Reply,
    hex: "05 05 00 01 00000000 0000",
    value: { code: 5, bound: { host: "0.0.0.0", port: 0 } },
  },
  {
    name: "a reply with an empty name",
    decode: decodeSocks5Reply,
    hex: "05 00 00 03 00 0000",
    value: { code: 0, bound: { host: "", port: 0 } },
  },
];

for (const { name, decode, hex, value } of messages) {
  Deno.test(`socks5 decodes ${name}, and asks for more at every cut`, () => {
    const bytes = fromHex(hex);
    assert.deepEqual(decode(bytes), { value, used: bytes.length });
    assert.deepEqual(decode(Uint8Array.of(...bytes, 1, 2, 3)), { value, used: bytes.length });
    for (let cut = 0; cut < bytes.length; cut++) assert.equal(decode(bytes.subarray(0, cut)), undefined);
  });
}

const bad: { name: string; decode: Decode<unknown>; hex: string; reply: number }[] = [
  { name: "a greeting of version 4", decode: decodeSocks5Greeting, hex: "04 01 00", reply: 1 },
  { name: "a request of version 4", decode: decodeSocks5Request, hex: "04 01 00 01", reply: 1 },
  { name: "an unknown address type", decode: decodeSocks5Request, hex: "05 01 00 02 00", reply: 8 },
  { name: "an empty name", decode: decodeSocks5Request, hex: "05 01 00 03 00 0050", reply: 1 },
  { name: "a name with a space", decode: decodeSocks5Request, hex: "05 01 00 03 03 612062 0050", reply: 1 },
  {
    name: "a name with a zero byte",
    decode: decodeSocks5Request,
    hex: "05 01 00 03 03 610062 0050",
    reply: 1,
  },
  {
    name: "a name that is not UTF-8",
    decode: decodeSocks5Request,
    hex: "05 01 00 03 02 61ff 0050",
    reply: 1,
  },
  { name: "a name with a port", decode: decodeSocks5Request, hex: "05 01 00 03 04 613a3232 0050", reply: 8 },
  { name: "a name in brackets", decode: decodeSocks5Request, hex: "05 01 00 03 03 5b615d 0050", reply: 8 },
  { name: "credentials of version 5", decode: decodeSocks5Credentials, hex: "05 01", reply: 1 },
];

for (const { name, decode, hex, reply } of bad) {
  Deno.test(`socks5 rejects ${name} with ${reply}`, () => {
    assert.throws(() => decode(fromHex(hex)), (error) => {
      assert(error instanceof PosternError && error.code === "protocol");
      assert.equal(socks5Reply(error), reply);
      return true;
    });
  });
}

Deno.test("decodeSocks5Request() decodes encodeSocks5Request() output", () => {
  for (const host of ["192.0.2.1", "2001:db8::1", "::ffff:10.0.0.1", "a.example", nameOf255]) {
    const request = { command: 1, target: { host, port: 443 } };
    const bytes = encodeSocks5Request(request);
    assert.deepEqual(decodeSocks5Request(bytes), { value: request, used: bytes.length });
  }
});

Deno.test("encodeSocks5Request() rejects a name of more than 255 bytes", () => {
  const target = { host: "n".repeat(256), port: 1 };
  assert.throws(() => encodeSocks5Request({ command: 1, target }), PosternError);
});

Deno.test("decodeSocks5Credentials() decodes encodeSocks5Credentials() output", () => {
  const credentials = { user: "me", password: "schön" };
  const bytes = encodeSocks5Credentials(credentials);
  assert.deepEqual(decodeSocks5Credentials(bytes), { value: credentials, used: bytes.length });
});
