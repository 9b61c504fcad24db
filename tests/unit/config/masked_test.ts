import assert from "node:assert/strict";
import {
  dictionary,
  either,
  kinded,
  list,
  masked,
  oneOrMore,
  optional,
  record,
  refine,
  secret,
  text,
  url,
} from "../../../src/config/mod.ts";

const schema = record({
  transports: dictionary(
    kinded({
      proxy: record({ url: url({ schemes: ["http"] }), password: optional(secret()) }),
      ssh: text(),
    }),
  ),
  tokens: optional(oneOrMore(secret())),
  keys: optional(list(refine(secret(), () => undefined))),
  either: optional(either(text(), record({ password: secret() }))),
  any: optional(either(url({ schemes: ["http"] }), text())),
});

Deno.test("masked() masks every secret and keeps other values", () => {
  const written = {
    transports: {
      corp: { proxy: { url: "http://me:hunter2@a:1", password: "hunter2" } },
      j: { ssh: "jump1" },
    },
    tokens: "hunter2",
    keys: ["hunter2", "hunter2"],
    either: { password: "hunter2" },
    any: "http://me:hunter2@b",
    pasword: "hunter2",
  };
  assert.deepEqual(masked(written, schema), {
    transports: { corp: { proxy: { url: "http://me:***@a:1", password: "***" } }, j: { ssh: "jump1" } },
    tokens: "***",
    keys: ["***", "***"],
    either: { password: "***" },
    any: "http://me:***@b",
    pasword: "***",
  });
});

Deno.test("masked() masks secrets in values of a wrong shape", () => {
  const wrongs = [
    { tokens: ["hunter2", { a: "hunter2" }] },
    { keys: "hunter2" },
    { transports: { a: { proxy: { password: { deep: "hunter2" } } } } },
    { either: { password: ["hunter2"] } },
  ];
  for (const wrong of wrongs) assert.doesNotMatch(JSON.stringify(masked(wrong, schema)), /hunter2/);
});
