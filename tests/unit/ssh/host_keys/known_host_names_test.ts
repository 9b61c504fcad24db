import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import {
  bytesAsText,
  hashKnownHost,
  type HmacSha1,
  isPlainKnownHost,
  knownHostName,
  matchesKnownHost,
  parseKnownHostNames,
} from "../../../../src/ssh/host_keys/known_host_names.ts";
import { patternBytes } from "../../../support/pattern_bytes.ts";

const hmacSha1: HmacSha1 = (key, message) => createHmac("sha1", key).update(message).digest();

function matches(names: string, name: string): boolean {
  const parsed = parseKnownHostNames(bytesAsText(new TextEncoder().encode(names)));
  assert.ok(parsed, names);
  return matchesKnownHost(parsed, name, hmacSha1);
}

const cases: readonly { names: string; yes: readonly string[]; no: readonly string[] }[] = [
  {
    names: "jump.example",
    yes: ["jump.example", "JUMP.Example"],
    no: ["jump.example.", "xjump.example", ""],
  },
  { names: "Jump.EXAMPLE", yes: ["jump.example"], no: [] },
  { names: "a,b,c", yes: ["a", "b", "c"], no: ["a,b", "d", ""] },
  { names: "*.example", yes: ["a.example", ".example", "a.b.example"], no: ["example", "a.example.org"] },
  { names: "jump?", yes: ["jump1", "jumpx"], no: ["jump", "jump12"] },
  { names: "*", yes: ["", "a", "[a]:22"], no: [] },
  { names: "*.example,!bad.example", yes: ["good.example"], no: ["bad.example"] },
  { names: "!bad.example,*.example", yes: ["good.example"], no: ["bad.example"] },
  { names: "!*.example", yes: [], no: ["a.example", "b"] },
  { names: "!!a,*", yes: ["a", "!b"], no: ["!a"] },
  { names: "[jump]:2222", yes: ["[jump]:2222", "[JUMP]:2222"], no: ["jump", "[jump]:22", "j:2222"] },
  { names: "[*]:2222", yes: ["[jump]:2222"], no: ["jump", "[jump]:2022"] },
  { names: "[::1]:2222", yes: ["[::1]:2222"], no: ["::1"] },
  { names: "192.0.2.?", yes: ["192.0.2.1"], no: ["192.0.2.10"] },
  { names: "a,,b", yes: ["a", ""], no: ["c"] },
  { names: "a,", yes: ["a", ""], no: [] },
  { names: "a**b*?c", yes: ["abxc", "aab1c", "aXbYbZc"], no: ["abc", "abcx"] },
  { names: "bücher?", yes: ["bücherx"], no: ["bücher", "BÜCHERX", "bücherü"] },
  { names: `${"x".repeat(1022)}`, yes: ["x".repeat(1022)], no: [] },
  { names: `a,${"x".repeat(1023)}`, yes: [], no: ["a", "x".repeat(1023)] },
];
for (const { names, yes, no } of cases) {
  Deno.test(`matchesKnownHost() for ${names.slice(0, 40)}`, () => {
    for (const name of yes) assert.ok(matches(names, name), `${name} should match`);
    for (const name of no) assert.ok(!matches(names, name), `${name} should not match`);
  });
}

Deno.test("matchesKnownHost() is fast with a hostile pattern", () => {
  const name = "a".repeat(1000);
  assert.ok(!matches(`${"*a".repeat(500)}*b`, name));
  assert.ok(matches(`${"*a".repeat(500)}*`, name));
});

Deno.test("matchesKnownHost() finds a hashed name in any case", () => {
  // Written by ssh-keygen -H for that address.
  const salt = Uint8Array.from(atob("WDwZK5Y3QmVNcU7Wpy9iGH8/Nj8="), (character) => character.charCodeAt(0));
  const names = "|1|WDwZK5Y3QmVNcU7Wpy9iGH8/Nj8=|nZnyB4FirCnPG/UXmgNrG5Ws1So=";
  assert.equal(hashKnownHost("192.168.1.61", salt, hmacSha1), names);
  assert.ok(matches(names, "192.168.1.61"));
  assert.ok(!matches(names, "192.168.1.6"));
  const hashed = hashKnownHost("[Jump.Example]:2222", patternBytes(20), hmacSha1);
  assert.ok(matches(hashed, "[jump.example]:2222"));
  assert.ok(matches(hashed, "[JUMP.example]:2222"));
  assert.ok(!matches(hashed, "jump.example"));
});

for (
  const names of [
    "|",
    "|1|",
    "|1||",
    "|2|WDwZK5Y3QmVNcU7Wpy9iGH8/Nj8=|nZnyB4FirCnPG/UXmgNrG5Ws1So=",
    "|1|WDwZK5Y3QmVNcU7Wpy9iGH8/Nj8=",
    "|1|WDwZK5Y3QmVNcU7Wpy9iGH8/Nj8=|nZnyB4FirCnPG/UXmgNrG5Ws1So=|",
    "|1|WDwZK5Y3QmVNcU7Wpy9iGH8/Nj8=|nZnyB4FirCnPG/UXmgNrG5Ws1So=,jump",
    "|1|WDwZK5Y3QmVNcU7Wpy9iGH8|nZnyB4FirCnPG/UXmgNrG5Ws1So=",
    "|1|WDwZK5Y3QmVNcU7Wpy9iGH8/Nj8|nZnyB4FirCnPG/UXmgNrG5Ws1So",
    "|1|*|*",
    // 16 bytes of salt, 16 bytes of hash.
    "|1|AAAAAAAAAAAAAAAAAAAAAA==|nZnyB4FirCnPG/UXmgNrG5Ws1So=",
    "|1|WDwZK5Y3QmVNcU7Wpy9iGH8/Nj8=|AAAAAAAAAAAAAAAAAAAAAA==",
  ]
) {
  Deno.test(`parseKnownHostNames() rejects the hash ${names}`, () => {
    assert.equal(parseKnownHostNames(names), undefined);
  });
}

Deno.test("knownHostName() names the port unless it is 22", () => {
  assert.equal(knownHostName("jump", 22), "jump");
  assert.equal(knownHostName("jump", 2222), "[jump]:2222");
  assert.equal(knownHostName("::1", 2222), "[::1]:2222");
});

Deno.test("isPlainKnownHost() is false for names that match other names", () => {
  for (const name of ["jump", "[::1]:2222", "192.0.2.1", "bücher", "a!b", "a|b", "a#b", "a@b"]) {
    assert.ok(isPlainKnownHost(name), name);
  }
  for (const name of ["", "*", "a?", "a,b", "!a", "|1|a|b", "#a", "@revoked", "a b", "a\nb", "a\0b"]) {
    assert.ok(!isPlainKnownHost(name), name);
  }
});
