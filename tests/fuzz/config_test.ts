import { fuzzRuns } from "../support/fuzz_runs.ts";
import assert from "node:assert/strict";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import {
  type ConfigDocument,
  configError,
  formatProblems,
  isError,
  jsonSchema,
  masked,
  parseDocument,
} from "../../src/config/mod.ts";
import { everything, worldContext } from "../unit/config/schema_cases.ts";

const validate = new Ajv2020({ strictRequired: false, allowUnionTypes: true })
  .compile(jsonSchema(everything, { title: "everything" }));

/** Checks that any text gives a value or problems with positions, and never throws. */
async function check(text: string): Promise<ConfigDocument> {
  const document = await parseDocument(text, { name: "f" });
  const lines = text.split("\n").length;
  for (const { position, message } of document.problems) {
    assert.notEqual(message, "");
    if (!position) continue;
    assert(position.line >= 1 && position.line <= lines && position.column >= 1, JSON.stringify(position));
  }
  if (document.value === undefined) assert(document.problems.length > 0);
  else checkValue(document);
  return document;
}

function checkValue(document: ConfigDocument): void {
  const context = worldContext();
  const value = everything.parse(document.value, context);
  assert.equal(value === undefined, context.problems.some(isError));
  const lines = formatProblems(context.problems, document);
  assert.equal(lines.length, context.problems.length);
  assert.equal(configError(document.name, lines).code, "config");
  masked(document.value, everything);
}

const tokens = [
  ..."-?:,[]{}#&*!|>'\"%@` \t\n\r~<=.0a",
  "\n  ",
  "\n    - ",
  ": ",
  "- ",
  "<<: ",
  "&a ",
  "*a",
  "!!map ",
  "---\n",
  "...\n",
  "\uFEFF",
  "\0",
  "😀",
  "\ud800",
  "|2-\n",
  "%YAML 1.1\n",
  "__proto__: ",
  "transports: ",
  "listen: ",
  "wait: ",
  "ssh: ",
  "10s",
  "true",
  "null",
  "0x1f",
  "1e400",
  ".nan",
];

Deno.test("parseDocument() returns a value or problems for any text", async () => {
  const texts = fc.array(fc.constantFrom(...tokens), { maxLength: 60 }).map((parts) => parts.join(""));
  await fc.assert(
    fc.asyncProperty(texts, async (text) => {
      await check(text);
    }),
    { numRuns: fuzzRuns(3000) },
  );
});

Deno.test("parseDocument() quotes no text around a syntax error", async () => {
  const noise = fc.array(fc.constantFrom(...tokens), { maxLength: 8 }).map((parts) => parts.join(""));
  await fc.assert(
    fc.asyncProperty(noise, noise, async (before, after) => {
      const { problems } = await parseDocument(`password: ${before}hunter2${after}`, { name: "f" });
      for (const { message } of problems) assert.doesNotMatch(message, /hunter2/);
    }),
    { numRuns: fuzzRuns(3000) },
  );
});

Deno.test("parseDocument() reads any JSON, and locate() finds every string in it", async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue({ maxDepth: 4 }), async (value) => {
      const text = JSON.stringify({ value }, null, 1);
      const document = await parseDocument(text, { name: "f" });
      assert.deepEqual(document.problems, []);
      assert.equal(JSON.stringify(document.value), JSON.stringify({ value }));
      const lines = text.split("\n");
      for (const [path, leaf] of leaves(value, ["value"])) {
        const position = document.locate(path);
        const written = lines[(position?.line ?? 0) - 1]?.slice((position?.column ?? 0) - 1) ?? "";
        assert(written.startsWith(JSON.stringify(leaf)), `${JSON.stringify(path)}: ${written}`);
      }
    }),
    { numRuns: fuzzRuns(1000) },
  );
});

function* leaves(value: unknown, path: (string | number)[]): Generator<[(string | number)[], unknown]> {
  if (Array.isArray(value)) {
    for (const [index, one] of value.entries()) {
      yield* leaves(one, [...path, index]);
    }
  } else if (typeof value !== "object" || value === null) yield [path, value];
  else for (const [key, one] of Object.entries(value)) yield* leaves(one, [...path, key]);
}

Deno.test("a schema refuses all values that its JSON Schema refuses", () => {
  const scalar = fc.oneof(
    fc.constantFrom(
      "a",
      "ab",
      "http",
      "10s",
      "off",
      "localhost:1",
      "127.0.0.1:1",
      "unix:x",
      "[::1]:1",
      "http://a:b@c",
    ),
    fc.string({ maxLength: 5, unit: "binary" }),
    fc.integer({ min: -2, max: 70_000 }),
    fc.constantFrom(0, -0, 1.5, null, true, false, 1e300),
  );
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      scalar,
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(
        fc.constantFrom("ssh", "direct", "via", "fast", "name", "groups", "address", "a"),
        tie("value"),
        {
          maxKeys: 3,
          noNullPrototype: true,
        },
      ),
    ),
  }));
  const keys = Object.keys(everything.json().properties as object);
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom(...keys), value, { maxKeys: 2, noNullPrototype: true }),
      (settings) => {
        const context = worldContext();
        const parsed = everything.parse(settings, context);
        assert.equal(parsed === undefined, context.problems.some(isError));
        if (parsed !== undefined) assert(validate(settings), JSON.stringify(validate.errors));
      },
    ),
    { numRuns: fuzzRuns(20_000) },
  );
});

const hostile: { name: string; text: string; isRefused?: boolean }[] = [
  { name: "10,000 open brackets", text: "[".repeat(10_000), isRefused: true },
  { name: "10,000 nested lists", text: `${"[".repeat(10_000)}${"]".repeat(10_000)}`, isRefused: true },
  { name: "10,000 nested mappings", text: `${"{a: ".repeat(10_000)}1${"}".repeat(10_000)}`, isRefused: true },
  { name: "10,000 nested items", text: `${"- ".repeat(10_000)}x`, isRefused: true },
  { name: "10,000 nested keys", text: "? ".repeat(10_000), isRefused: true },
  { name: "10,000 nested items with anchors", text: `${"- &a ".repeat(10_000)}x`, isRefused: true },
  {
    name: "1,900 indented levels",
    text: Array.from({ length: 1900 }, (_, level) => `${" ".repeat(level)}a:`).join("\n"),
    isRefused: true,
  },
  { name: "2 MB of brackets", text: "[".repeat(2_000_000), isRefused: true },
  { name: "2 MB of brackets and line ends", text: "[\n".repeat(1_000_000), isRefused: true },
  { name: "a line of 2 MB", text: `text: ${"x".repeat(1_999_000)}` },
  { name: "a key of 2 MB", text: `${"x".repeat(1_999_000)}: 1`, isRefused: true },
  { name: "2 MB of spaces", text: " ".repeat(2_000_000) },
  { name: "2 MB of tabs", text: "\t".repeat(2_000_000) },
  { name: "2 MB of colons", text: ":".repeat(2_000_000) },
  { name: "2 MB of line ends", text: "\n".repeat(2_000_000) },
  { name: "2 MB of documents", text: "---\n".repeat(500_000), isRefused: true },
  { name: "100,000 quotes", text: '"'.repeat(100_000), isRefused: true },
  { name: "100,000 anchors", text: "&a ".repeat(100_000), isRefused: true },
  { name: "100,000 tags", text: "! ".repeat(100_000), isRefused: true },
  { name: "100,000 directives", text: "%a b\n".repeat(100_000), isRefused: true },
  { name: "100,000 aliases", text: `a: &a 1\nb: [${"*a,".repeat(100_000)}]`, isRefused: true },
  { name: "100,000 keys", text: Array.from({ length: 100_000 }, (_, i) => `k${i}:`).join("\n") },
  { name: "50,000 equal keys", text: "k:\n".repeat(50_000) },
  {
    name: "aliases that double 50 times",
    text: ["a0: &a0 [x]", ...Array.from({ length: 50 }, (_, i) => `a${i + 1}: &a${i + 1} [*a${i}, *a${i}]`)]
      .join("\n"),
    isRefused: true,
  },
  {
    name: "merges that double",
    text: ["- &a0 { k: 1 }", ...Array.from({ length: 50 }, (_, i) => `- &a${i + 1} { <<: [*a${i}, *a${i}] }`)]
      .join("\n"),
  },
];
for (const { name, text, isRefused = false } of hostile) {
  Deno.test(`parseDocument() terminates for ${name}`, async () => {
    const started = performance.now();
    const document = await check(text);
    if (isRefused) assert.equal(document.value, undefined);
    // Quadratic time would take minutes; the limit allows for a busy machine.
    assert(performance.now() - started < 20_000);
  });
}
