import assert from "node:assert/strict";
import { canonicalHost } from "../../../src/words/mod.ts";
import {
  invisibleNames,
  loopbackSpellings,
  noAddresses,
  unspecifiedSpellings,
} from "../../support/spellings.ts";

for (const text of loopbackSpellings) {
  Deno.test(`canonicalHost() reads ${text} as 127.0.0.1`, () => {
    assert.equal(canonicalHost(text), text.includes(":") ? "::ffff:127.0.0.1" : "127.0.0.1");
  });
}

for (const text of unspecifiedSpellings) {
  Deno.test(`canonicalHost() reads ${text} as the unspecified address`, () => {
    const six = /ffff/.test(text) ? "::ffff:0.0.0.0" : "::";
    assert.equal(canonicalHost(text), text.includes(":") ? six : "0.0.0.0");
  });
}

for (
  const [text, is] of [
    ["example.com", "example.com"],
    ["Example.COM.", "Example.COM."],
    ["_srv.web", "_srv.web"],
    ["1.2.3.4.example", "1.2.3.4.example"],
    ["3com", "3com"],
    ["0x7f.0xg", "0x7f.0xg"],
    ["1e100.net", "1e100.net"],
    ["10-1-2-3.pod", "10-1-2-3.pod"],
    ["BÜCHER.example", "xn--bcher-kva.example"],
    ["نامه\u200cای.com", "xn--mgba3gch31f060k.com"],
    ["❤\ufe0f.ws", "xn--qei.ws"],
    ["255.255.255.255", "255.255.255.255"],
    ["1.2.65535", "1.2.255.255"],
    ["0xffffffff", "255.255.255.255"],
    ["2001:0DB8:0:0:0:0:0:1", "2001:db8::1"],
  ] as const
) {
  Deno.test(`canonicalHost() of ${text} is ${is}`, () => {
    assert.equal(canonicalHost(text), is);
    assert.equal(canonicalHost(is), is);
  });
}

for (
  const [text, problem] of [
    ["", /empty/],
    ["a".repeat(256), /more than 255 characters/],
    ["ü".repeat(250), /more than 255 characters/],
    ["fe80::1%eth0", /not an IPv6 address/],
    ["1:2", /not an IPv6 address/],
    ["a b", /spaces/],
    ["a%31", /parts of a URL/],
    ["a/b", /parts of a URL/],
    ["ü/b", /not a valid international name/],
    ["\ufffd.test", /not a valid international name/],
    ["a\u0001b", /control or invisible/],
    ...noAddresses.map((text) => [text, /ends in a number|not a valid/] as const),
    ...invisibleNames.map((text) => [text, /control or invisible/] as const),
  ] as const
) {
  Deno.test(`canonicalHost() rejects ${JSON.stringify(text.slice(0, 20))}`, () => {
    const host = canonicalHost(text);
    assert.ok(typeof host !== "string", `${host}`);
    assert.match(host.problem, problem);
    assert.notEqual(host.hint, "");
  });
}
