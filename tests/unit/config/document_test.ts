import assert from "node:assert/strict";
import { documentLimit, parseDocument } from "../../../src/config/mod.ts";

const name = "config.yaml";

/** The problems of a text, as `LINE:COLUMN message`. */
async function said(text: string): Promise<string[]> {
  const { problems } = await parseDocument(text, { name });
  return problems.map(({ position, message }) => `${position?.line}:${position?.column} ${message}`);
}

const values: { name: string; text: string; value: unknown }[] = [
  { name: "an empty text", text: "", value: {} },
  { name: "comments only", text: "# one\n# two\n", value: {} },
  { name: "an empty document", text: "---\n", value: {} },
  { name: "a byte order mark", text: "\uFEFFa: 1", value: { a: 1 } },
  { name: "CRLF", text: "a: 1\r\nb:\r\n  - x\r\n  - y\r\n", value: { a: 1, b: ["x", "y"] } },
  { name: "JSON", text: '{"a": [1, true, null, "x"]}', value: { a: [1, true, null, "x"] } },
  {
    name: "words that are booleans in YAML 1.1",
    text: "a: off\nb: yes\nc: 12:30",
    value: { a: "off", b: "yes", c: "12:30" },
  },
  { name: "a %YAML 1.1 directive without effect", text: "%YAML 1.1\n---\na: yes", value: { a: "yes" } },
  { name: "an IPv6 address in quotes", text: 'a: ["[::1]:1", ::1]', value: { a: ["[::1]:1", "::1"] } },
  { name: "numbers as keys", text: "1080: a\n0x10: b", value: { 1080: "a", "0x10": "b" } },
  { name: "an anchor and its alias", text: "a: &x [1]\nb: *x", value: { a: [1], b: [1] } },
  {
    name: "explicit keys, which win over merged ones",
    text: "a: &x { p: 1, q: 2 }\nb: { q: 3, <<: *x }",
    value: { a: { p: 1, q: 2 }, b: { q: 3, p: 1 } },
  },
  {
    name: "the first of several merged mappings",
    text: "- &x { p: 1 }\n- &y { p: 2, q: 2 }\n- <<: [*x, *y]",
    value: [{ p: 1 }, { p: 2, q: 2 }, { p: 1, q: 2 }],
  },
  { name: "a quoted << as a plain key", text: '"<<": 1', value: { "<<": 1 } },
];
for (const { name: what, text, value } of values) {
  Deno.test(`parseDocument() reads ${what}`, async () => {
    const document = await parseDocument(text, { name });
    assert.deepEqual(document.problems, []);
    assert.deepEqual(document.value, value);
  });
}

Deno.test("parseDocument() reads __proto__ as an ordinary key", async () => {
  const { value } = await parseDocument("__proto__: { a: 1 }", { name });
  assert.deepEqual(Object.keys(value as object), ["__proto__"]);
});

const faults: { name: string; text: string; says: RegExp[] }[] = [
  {
    name: "an unquoted *",
    text: "to: [*]",
    says: [/^1:6 an unquoted \* begins a YAML alias: quote a pattern, as in "\*" or/],
  },
  {
    name: "an unquoted *.example.com",
    text: "to:\n  - *.example.com",
    says: [/^2:5 an unquoted \* .*as in "\*" or "\*\.example\.com"$/],
  },
  {
    name: "a duplicate key",
    text: "a: 1\nb:\n  c: 1\n  c: 2\na: 3",
    says: [/^4:3 is a duplicate key/, /^5:1 is a duplicate/],
  },
  { name: "a tab that indents", text: "a:\n\tb: 1", says: [/^2:1 a tab is used to indent: use spaces$/] },
  { name: "two documents", text: "a: 1\n---\nb: 2", says: [/^2:1 there is more than one document/] },
  {
    name: "an unclosed bracket",
    text: "a: [1, 2\nb: 3",
    says: [/^2:1 an earlier bracket or brace is not closed$/],
  },
  {
    name: "an unclosed quote",
    text: 'a: "x\nb: 3',
    says: [/^\d:\d cannot be read as YAML: Missing closing/],
  },
  {
    name: "an IPv6 address without quotes",
    text: "a: [::1]:12000",
    says: [/^1:9 unexpected text: .*"\[::1\]:12000"$/],
  },
  { name: "a string with a colon", text: "a: b: c", says: [/^1:4 a key inside a value: /] },
  {
    name: "a key with too much indentation",
    text: "a: 1\n b: 2",
    says: [/^1:4 a key inside a value: align it/],
  },
  { name: "wrong indentation", text: "a:\n  b: 1\n c: 2", says: [/^3:\d /] },
  {
    name: "a missing space",
    text: "a:b\nc: 1",
    says: [/^1:1 a key must be on one line: .* without a space after it$/],
  },
  { name: "a tag", text: "a: !!binary aGk=", says: [/^1:4 tags \(!\) are not supported/] },
  { name: "a mapping as a key", text: "? { a: 1 }\n: 2", says: [/^1:3 a key must be a string$/] },
  {
    name: "an alias inside its anchor",
    text: "a: &x [*x]",
    says: [/^1:8 an alias inside its own anchor$/],
  },
  {
    name: "a merge key without a mapping",
    text: "a: &x 1\n<<: *x",
    says: [/^2:1 must be an alias of a mapping/],
  },
  {
    name: "a reserved character",
    text: "a: @x",
    says: [/^1:4 a string must not begin with @ or a backquote: quote it$/],
  },
];
for (const { name: what, text, says } of faults) {
  Deno.test(`parseDocument() reports the position of ${what}`, async () => {
    const messages = await said(text);
    for (const [index, expected] of says.entries()) assert.match(messages[index] ?? "", expected);
    assert.equal(messages.length >= says.length, true);
  });
}

Deno.test("parseDocument() reports one syntax error per line and at most ten", async () => {
  const messages = await said("a: @\n".repeat(15));
  assert.equal(messages.length, 11);
  assert.equal(messages.at(-1), "undefined:undefined syntax errors on 5 more lines");
  assert.equal((await said("- a\nb: 1 @ @ @")).length, 1);
});

Deno.test("parseDocument() does not quote the text around a fault", async () => {
  for (
    const text of [
      'password: "hunter2',
      'password: "a" hunter2',
      "password: hunter2: x",
      "a: [hunter2\nb: c",
      "- hunter2\nx: y",
      "|hunter2",
      "%hunter2",
      "!hunter2 x",
      "*hunter2",
      "*.hunter2",
    ]
  ) {
    assert.doesNotMatch((await said(text)).join(), /hunter/, text);
  }
});

Deno.test("parseDocument() rejects more than 2 MB before parsing", async () => {
  assert.deepEqual(await said("a".repeat(documentLimit + 1)), [
    "undefined:undefined the file is over 2 MB: move long lists to a routesFrom file",
  ]);
  assert.match((await said(`# ${"ä".repeat(documentLimit / 2)}`)).join(), /over 2 MB/);
  assert.deepEqual(await said(`# ${"a".repeat(documentLimit - 2)}`), []);
});

Deno.test("parseDocument() accepts at most 100 aliases", async () => {
  const text = (count: number) => `- &x 1\n${"- *x\n".repeat(count)}`;
  assert.deepEqual(await said(text(100)), []);
  assert.deepEqual(await said(text(101)), ["102:3 more than 100 aliases"]);
});

Deno.test("parseDocument() rejects aliases that expand exponentially", async () => {
  const bomb = ["- &a0 [x, x, x, x, x, x, x, x, x]"];
  for (let i = 1; i < 10; i++) bomb.push(`- &a${i} [${Array(9).fill(`*a${i - 1}`).join()}]`);
  const document = await parseDocument(bomb.join("\n"), { name });
  assert.deepEqual(document.problems.map(({ message }) => message), [
    "the aliases expand to too many values",
  ]);
  assert.equal(document.value, undefined);
});

const text = `listen: 12000
routes:
  - { to: [a, b], via: x }
  - to: c
    via:   "y"
base: &base
  host: h
other:
  <<: *base
alias: *base
empty:
`;
const places: { path: (string | number)[]; on?: "key"; place: string }[] = [
  { path: [], place: "1:1" },
  { path: ["listen"], place: "1:9" },
  { path: ["listen"], on: "key", place: "1:1" },
  { path: ["routes", 0, "to", 1], place: "3:15" },
  { path: ["routes", 1], place: "4:5" },
  { path: ["routes", 1, "via"], place: "5:12" },
  { path: ["routes", 1, "via"], on: "key", place: "5:5" },
  { path: ["other", "host"], place: "7:9" },
  { path: ["alias"], place: "10:8" },
  { path: ["alias", "host"], place: "7:9" },
  { path: ["empty"], place: "11:1" },
  { path: ["routes", 1, "missing"], place: "4:5" },
  { path: ["routes", 7, "x"], place: "3:3" },
  { path: ["missing"], place: "1:1" },
  { path: ["listen", "deeper"], place: "1:9" },
];
for (const { path, on, place } of places) {
  Deno.test(`locate() finds ${on ?? "value"} ${JSON.stringify(path)} at ${place}`, async () => {
    const document = await parseDocument(text, { name });
    const position = document.locate(path, on);
    assert.equal(`${position?.line}:${position?.column}`, place);
  });
}

Deno.test("locate() counts CRLF lines and ignores a byte order mark", async () => {
  const document = await parseDocument("\uFEFFa: 1\r\nb: 2", { name });
  assert.deepEqual(document.locate(["a"]), { line: 1, column: 4 });
  assert.deepEqual(document.locate(["b"]), { line: 2, column: 4 });
});
