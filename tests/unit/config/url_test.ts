import assert from "node:assert/strict";
import {
  choice,
  duration,
  flag,
  integer,
  list,
  listenAddress,
  maskedUrl,
  record,
  type Schema,
  text,
  url,
} from "../../../src/config/mod.ts";
import { parsed } from "./schema_cases.ts";

const proxy = url({ schemes: ["http", "https", "socks5"] });

Deno.test("url() accepts only the given schemes", () => {
  assert.equal(parsed(proxy, "http://proxy.example:3128").value?.port, "3128");
  assert.equal(parsed(proxy, "socks5://[2001:db8::1]:1080").value?.hostname, "[2001:db8::1]");
  for (
    const wrong of ["ftp://a", "http:a", "proxy.example:3128", "http://", "http://a:99999", "", "http:///x"]
  ) {
    const { value, said } = parsed(proxy, wrong);
    assert.equal(value, undefined, wrong);
    assert.match(
      said[0] ?? "",
      /^must be a URL that begins with http:\/\/, https:\/\/ or socks5:\/\/: current/,
    );
  }
});

Deno.test("url() warns about a password and never shows it", () => {
  const { value, said } = parsed(proxy, "http://me:hunter2@proxy.example");
  assert.equal(value?.password, "hunter2");
  assert.match(said.join(), /^warning: contains a password/);
  for (
    const wrong of [
      "ftp://me:hunter2@a",
      "http://me:hunter2@",
      "me:hunter2@a",
      "http://me:hunt/er2@a",
      "http://me:h@hunter2@a:b",
    ]
  ) {
    assert.doesNotMatch(parsed(proxy, wrong).said.join(), /hunt/, wrong);
  }
});

Deno.test("maskedUrl() masks only the password", () => {
  assert.equal(maskedUrl("http://me:pw@a:1/x"), "http://me:***@a:1/x");
  assert.equal(maskedUrl("http://a:1/x"), "http://a:1/x");
  assert.equal(maskedUrl("http://me@a:1/x"), "http://me@a:1/x");
  assert.equal(maskedUrl("http://[::1]:1/x"), "http://[::1]:1/x");
});

const elsewhere: readonly { name: string; schema: Schema<unknown> }[] = [
  { name: "a mapping", schema: record({ url: url({ schemes: ["http"] }) }) },
  { name: "a list", schema: list(text()) },
  { name: "a string with a pattern", schema: text({ pattern: /^[a-z]+$/, describe: "a word" }) },
  { name: "a choice", schema: choice("http", "socks") },
  { name: "an address", schema: listenAddress() },
  { name: "a number", schema: integer() },
  { name: "a duration", schema: duration() },
  { name: "a flag", schema: flag() },
];
for (const { name, schema } of elsewhere) {
  Deno.test(`a message about a URL instead of ${name} masks its password`, () => {
    const { said } = parsed(schema, "http://me:hunter2@proxy.example:3128");
    assert.equal(said.length, 1);
    assert.doesNotMatch(said.join(), /hunter2/);
    // Also masks the password of a URL that the message shortens.
    assert.doesNotMatch(parsed(schema, `http://me:hunter2${"x".repeat(80)}@a:1`).said.join(), /hunter2/);
  });
}
