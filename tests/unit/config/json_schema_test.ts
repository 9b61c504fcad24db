import assert from "node:assert/strict";
import { Ajv2020 } from "ajv/dist/2020.js";
import { jsonSchema } from "../../../src/config/mod.ts";
import { everything, parsed } from "./schema_cases.ts";

const valid: unknown[] = [
  {},
  null,
  { text: "ab", word: "http", pattern: "a.b", number: 9, port: 0, flag: true },
  { text: "😀😀😀😀" },
  { wait: "10s", refresh: "off" },
  { wait: 0, refresh: "1m30s" },
  { secret: "x", file: "~/a", url: "https://a:1/x" },
  { listen: 12000 },
  { listen: "[::1]:12000" },
  { listen: ["localhost:1", 0, { address: "127.0.0.1:1", only: "socks" }] },
  { list: [1, 2], dictionary: { a: true } },
  { list: null, dictionary: null, transports: null },
  { transports: { a: { ssh: "x", via: "b" }, b: { direct: null }, c: { direct: { fast: true } } } },
  { group: { name: "a", groups: [{ name: "b", groups: [{ name: "c" }] }] } },
];
const invalid: unknown[] = [
  [],
  "x",
  { unknown: 1 },
  { text: "a" },
  { text: "abcde" },
  { text: "😀😀😀😀😀" },
  { text: 12 },
  { text: null },
  { word: "https" },
  { pattern: "A" },
  { number: 10 },
  { number: 1.5 },
  { number: "1" },
  { port: 65536 },
  { flag: "yes" },
  { flag: null },
  { wait: 10 },
  { wait: "10" },
  { wait: "off" },
  { refresh: 0 },
  { secret: "" },
  { file: "" },
  { url: "ftp://a" },
  { url: "http:/a" },
  { listen: [] },
  { listen: null },
  { listen: ":12000" },
  { listen: 65536 },
  { listen: { only: "x" } },
  { list: [1, 2, 3] },
  { list: ["a"] },
  { list: 1 },
  { dictionary: { A: true } },
  { dictionary: { a: 1 } },
  { transports: { a: {} } },
  { transports: { a: null } },
  { transports: { a: { ssh: "x", direct: null } } },
  { transports: { a: { ssh: "x", vai: "y" } } },
  { transports: { a: { via: "y" } } },
  { group: { name: "a", groups: [{ groups: [] }] } },
];

const generated = jsonSchema(everything, { title: "postern", id: "https://example.org/postern.schema.json" });
const validate = new Ajv2020({ allErrors: true, strict: true, strictRequired: false, allowUnionTypes: true })
  .compile(generated);

Deno.test("jsonSchema() and the schema accept the same values", () => {
  for (const value of valid) {
    assert.deepEqual(parsed(everything, value).said, [], JSON.stringify(value));
    assert.equal(validate(value), true, `${JSON.stringify(value)}: ${JSON.stringify(validate.errors)}`);
  }
});

for (const value of invalid) {
  Deno.test(`jsonSchema() and the schema both reject ${JSON.stringify(value)}`, () => {
    assert.equal(parsed(everything, value).value, undefined);
    assert.equal(validate(value), false);
  });
}

Deno.test("jsonSchema() contains the title, descriptions and written defaults", () => {
  assert.equal(generated.title, "postern");
  assert.equal(generated.$schema, "https://json-schema.org/draft/2020-12/schema");
  const properties = generated.properties as Record<string, Record<string, unknown>>;
  assert.equal(properties.word?.description, "Which protocol.");
  assert.equal(properties.wait?.default, "10s");
  assert.equal(properties.flag?.default, false);
  assert.equal(properties.number?.default, 3);
});

Deno.test("jsonSchema() has valid defaults", () => {
  const properties = generated.properties as Record<string, Record<string, unknown>>;
  for (const [key, { default: value }] of Object.entries(properties)) {
    if (value !== undefined) assert.equal(validate({ [key]: value }), true, key);
  }
});
