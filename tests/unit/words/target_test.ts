import assert from "node:assert/strict";
import { formatTarget, normalHost, parseTarget } from "../../../src/words/mod.ts";
import { invisibleNames, noAddresses } from "../../support/spellings.ts";

const targets = [
  { text: "example.com:443", target: { host: "example.com", port: 443 } },
  { text: "192.0.2.1:0", target: { host: "192.0.2.1", port: 0 } },
  { text: "[2001:db8::1]:65535", target: { host: "2001:db8::1", port: 65535 } },
  { text: "a:1", target: { host: "a", port: 1 } },
];
for (const { text, target } of targets) {
  Deno.test(`parseTarget() reads ${text}, and formatTarget() writes it`, () => {
    assert.deepEqual(parseTarget(text), target);
    assert.equal(formatTarget(target), text);
  });
}

for (const text of ["example.com", "2001:db8::1", "[2001:db8::1]", "192.0.2.1"]) {
  Deno.test(`parseTarget() reads ${text} with a default port`, () => {
    assert.deepEqual(parseTarget(text, 443), { host: text.replace(/[[\]]/g, ""), port: 443 });
    assert.throws(() => parseTarget(text), { code: "usage", message: /missing port/ });
  });
}

for (
  const [text, host] of [
    ["127.1", "127.0.0.1"],
    ["0x7f000001", "127.0.0.1"],
    ["0177.0.0.1.", "127.0.0.1"],
    ["１２７。1", "127.0.0.1"],
    ["[::FFFF:7f00:1]", "::ffff:127.0.0.1"],
    ["bücher.example", "xn--bcher-kva.example"],
    ["A.Example.", "A.Example."],
  ] as const
) {
  Deno.test(`parseTarget() reads the host of ${text} as ${host}`, () => {
    assert.deepEqual(parseTarget(`${text}:443`), { host, port: 443 });
    assert.deepEqual(parseTarget(text, 80), { host, port: 80 });
  });
}

Deno.test("parseTarget() takes linear time for a megabyte of text", () => {
  const started = performance.now();
  for (const text of ["[", ":", "1.", "a", "0", "。", "[:"]) {
    assert.throws(() => parseTarget(text.repeat(1_000_000)), { code: "usage" });
    assert.throws(() => parseTarget(`[${text.repeat(1_000_000)}`), { code: "usage" });
  }
  // Quadratic time would take minutes; the bound leaves room for a busy machine.
  assert.ok(performance.now() - started < 20_000);
});

Deno.test("parseTarget() reports why a host is invalid", () => {
  assert.throws(() => parseTarget("127.0.0.256:80"), {
    code: "usage",
    message:
      'Cannot read "127.0.0.256:80" as HOST:PORT: the host ends in a number but is not an IPv4 address',
  });
});

const unreadable = [
  ...[...noAddresses, ...invisibleNames].map((host) => `${host}:443`),
  "",
  ":443",
  "[]:443",
  "a b:443",
  "a:443:1",
  "a:99999",
  "a:-1",
  "a:",
  "[example.com]:443",
  "[192.0.2.1]:443",
  "[::1",
  "http://a:1",
  `${"a".repeat(256)}:1`,
];
for (const text of unreadable) {
  Deno.test(`parseTarget() rejects ${JSON.stringify(text.slice(0, 30))} with a hint`, () => {
    assert.throws(() => parseTarget(text), (error: Error & { code?: string; hint?: string }) => {
      assert.equal(error.code, "usage");
      assert.match(error.message, /^Cannot read ".*" as HOST:PORT/);
      assert.ok(error.hint);
      return true;
    });
  });
}

const normal = [
  { host: "Example.COM.", is: "example.com" },
  { host: "[2001:DB8:0::1]", is: "2001:db8::1" },
  { host: "2001:db8:0:0:0:0:0:1", is: "2001:db8::1" },
  { host: "192.0.2.1", is: "192.0.2.1" },
  { host: "192.0.2.1.", is: "192.0.2.1" },
  { host: "010.0.0.1", is: "8.0.0.1" },
  { host: "0x7F.1.", is: "127.0.0.1" },
  { host: "1.2.3.4.5", is: "1.2.3.4.5" },
  { host: "10.example", is: "10.example" },
  { host: ".", is: "." },
  { host: "", is: "" },
];
for (const { host, is } of normal) {
  Deno.test(`normalHost() of ${JSON.stringify(host)} is ${JSON.stringify(is)}`, () => {
    assert.equal(normalHost(host), is);
    assert.equal(normalHost(is), is);
  });
}
