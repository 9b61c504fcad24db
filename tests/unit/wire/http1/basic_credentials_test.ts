import assert from "node:assert/strict";
import { decodeBasic, encodeBasic } from "../../../../src/wire/mod.ts";

for (
  const credentials of [
    { user: "me", password: "secret" },
    { user: "", password: "" },
    { user: "me", password: "a:b" },
    { user: "jürg", password: "pässword€" },
  ]
) {
  Deno.test(`decodeBasic() decodes encodeBasic() output: ${JSON.stringify(credentials)}`, () => {
    const value = encodeBasic(credentials);
    assert.deepEqual(decodeBasic(value), credentials);
    assert.deepEqual(decodeBasic(value.replace("Basic", "BASIC").replaceAll("=", "")), credentials);
  });
}

for (
  const value of [
    undefined,
    "",
    "Basic",
    "Basic ",
    "Basic bm9jb2xvbg==",
    "Basic !",
    "Basic YWJjZ",
    "Bearer bWU6eA==",
  ]
) {
  Deno.test(`decodeBasic() returns nothing for ${value}`, () => {
    assert.equal(decodeBasic(value), undefined);
  });
}
