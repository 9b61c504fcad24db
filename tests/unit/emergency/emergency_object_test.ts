import assert from "node:assert/strict";
import { emergencyObjectName, readSecrets } from "../../../src/emergency/mod.ts";
import { isPosternError } from "../../../src/words/mod.ts";

const names = [
  // printf %s c-lab | sha256sum
  ["c-lab", "em-4105534dc88bae7d76823c9d61b6901c0f75fb094f045f4f8edea59dd7c55436"],
  ["", "em-e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
  ["ünï \u{1f511}/..", undefined],
] as const;
for (const [id, name] of names) {
  Deno.test(`emergencyObjectName() of ${JSON.stringify(id)} hashes its UTF-8`, async () => {
    const found = await emergencyObjectName(id);
    assert.match(found, /^em-[0-9a-f]{64}$/);
    if (name !== undefined) assert.equal(found, name);
  });
}

const from = '"b" at https://s3.example.net';

Deno.test("readSecrets() returns the entries with data, in order", () => {
  const secrets = [{ data: "a" }, {}, 5, { data: " " }, { data: 7 }, { data: "b", more: 1 }];
  assert.deepEqual(readSecrets(bytesOf(JSON.stringify({ secrets, more: true })), { from }), ["a", "b"]);
});

const secret = "SECRET-OF-THE-OBJECT";
const damaged: { readonly name: string; readonly bytes: Uint8Array; readonly says: string }[] = [
  { name: "nothing", bytes: new Uint8Array(), says: "it is empty" },
  { name: "a web page", bytes: bytesOf(`\n<!doctype html>${secret}`), says: "it is a web page" },
  {
    name: "half of an object",
    bytes: bytesOf(`{"secrets":[{"data":"${secret}`),
    says: "incomplete or not JSON",
  },
  { name: "bytes", bytes: Uint8Array.of(0xff, 0xfe, 0), says: "it is not text" },
  { name: "a list", bytes: bytesOf("[]"), says: "no list of secrets" },
  { name: "another shape", bytes: bytesOf('{"secrets":{"data":"x"}}'), says: "no list of secrets" },
  { name: "an empty list", bytes: bytesOf('{"secrets":[]}'), says: "no secret with data" },
  { name: "the token itself", bytes: bytesOf(secret), says: "incomplete or not JSON" },
  {
    name: "too many",
    bytes: bytesOf(JSON.stringify({ secrets: Array(5001).fill({ data: "x" }) })),
    says: "more than 5000 secrets",
  },
];
for (const { name, bytes, says } of damaged) {
  Deno.test(`readSecrets() refuses ${name} without quoting its content`, () => {
    assert.throws(() => readSecrets(bytes, { from }), (error: Error) => {
      assert.ok(isPosternError(error, "protocol"));
      assert.ok(error.message.includes(says), error.message);
      assert.ok(!`${error.message}${error.cause}`.includes(secret));
      return true;
    });
  });
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
