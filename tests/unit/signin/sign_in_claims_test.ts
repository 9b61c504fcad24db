import assert from "node:assert/strict";
import { isFresh, readClaims } from "../../../src/signin/sign_in_claims.ts";

const part = (value: unknown) => {
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
};
const token = (claims: unknown) => `${part({ alg: "ES256" })}.${part(claims)}.c2ln`;

Deno.test("readClaims() reads the claims of a token", () => {
  const claims = { iss: "https://idp", aud: "a", sub: "1", email: "me@example.com", exp: 1767225600 };
  assert.deepEqual(readClaims(token(claims)), {
    issuer: "https://idp",
    audience: ["a"],
    subject: "1",
    name: "me@example.com",
    expires: new Date("2026-01-01T00:00:00Z"),
  });
});

Deno.test("readClaims() leaves out claims of the wrong type", () => {
  const claims = { iss: 1, aud: ["a", 2, "b"], sub: {}, email: "", preferred_username: "me", exp: 1e300 };
  assert.deepEqual(readClaims(token(claims)), {
    issuer: undefined,
    audience: ["a", "b"],
    subject: undefined,
    name: "me",
    expires: undefined,
  });
});

Deno.test("readClaims() removes terminal control characters from a name", () => {
  assert.equal(readClaims(token({ email: "me\u001b[2J\u202e@example.com" }))?.name, "me?[2J?@example.com");
});

const none = [
  "",
  "a",
  "a.b",
  "a.b.c",
  "a.b.c.d",
  `${part({})}.${part([1])}.x`,
  `${part({})}.${part(null)}.x`,
  ".e30",
  "\u0000.é.ü",
];
for (const text of none) {
  Deno.test(`readClaims() finds no claims in ${JSON.stringify(text)}`, () =>
    assert.equal(readClaims(text), undefined));
}

Deno.test("isFresh() requires ten more seconds", () => {
  const expires = new Date("2026-01-01T00:00:10Z");
  assert.equal(isFresh({ expires }, new Date("2025-12-31T23:59:59Z")), true);
  assert.equal(isFresh({ expires }, new Date("2026-01-01T00:00:00Z")), false);
  assert.equal(isFresh({ expires: undefined }, new Date(0)), false);
});
