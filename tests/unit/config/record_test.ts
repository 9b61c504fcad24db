import assert from "node:assert/strict";
import {
  described,
  dictionary,
  either,
  flag,
  type Infer,
  integer,
  kinded,
  list,
  oneOrMore,
  optional,
  port,
  record,
  refine,
  type Schema,
  secret,
  text,
  transformed,
} from "../../../src/config/mod.ts";
import { lazy } from "../../../src/config/modifiers.ts";
import { PosternError } from "../../../src/words/mod.ts";
import { parsed } from "./schema_cases.ts";

const listener = record({
  host: text(),
  port: port(),
  name: optional(text()),
  open: optional(flag(), false),
  limits: optional(record({ connections: optional(integer({ min: 1 }), 4096) }), { connections: 1 }),
});

Deno.test("record() returns typed settings with fallbacks and without missing keys", () => {
  const { value, said } = parsed(listener, { host: "a", port: 1 });
  const settings: Infer<typeof listener> | undefined = value;
  assert.deepEqual(said, []);
  assert.deepEqual(settings, { host: "a", port: 1, open: false, limits: { connections: 1 } });
});

Deno.test("record() reports all unknown, missing and invalid keys at once", () => {
  const { value, said } = parsed(listener, { hots: "a", port: 99999, limits: { connections: 0 }, zzzzzz: 1 });
  assert.equal(value, undefined);
  assert.deepEqual(said, [
    'hots is not a known key, did you mean "host"?',
    "zzzzzz is not a known key: known keys are host, port, name, open, limits",
    "host is missing: must be a non-empty string",
    "port must be a port from 0 to 65535: current value is 99999",
    "limits.connections must be a whole number of at least 1: current value is 0",
  ]);
});

Deno.test("record() accepts an empty section only if no key is required", () => {
  assert.deepEqual(parsed(record({ a: optional(text()) }), null), { value: {}, said: [] });
  assert.deepEqual(parsed(record({ a: text() }), null).said, [
    "must be a mapping with a: current value is empty",
  ]);
});

Deno.test("record() ignores inherited keys", () => {
  const hostile: unknown = JSON.parse('{"a":"x","__proto__":{"b":1},"constructor":1}');
  assert.deepEqual(parsed(record({ a: text() }), hostile).said, [
    "__proto__ is not a known key: known keys are a",
    "constructor is not a known key: known keys are a",
  ]);
  assert.deepEqual(parsed(record({ toString: text() }), {}).said, [
    "toString is missing: must be a non-empty string",
  ]);
});

Deno.test("dictionary() accepts any name, or checks names by a pattern", () => {
  const hostile: unknown = JSON.parse('{"__proto__":"x"}');
  const { value } = parsed(dictionary(text()), hostile);
  assert.deepEqual(Object.entries(value ?? {}), [["__proto__", "x"]]);
  assert.deepEqual(
    parsed(dictionary(text(), { key: /^[a-z]+$/, describe: "in small letters" }), { a: "x", B: 1 }).said,
    [
      "B the name must be in small letters",
      "B must be a non-empty string: current value is 1, quote it",
    ],
  );
  assert.deepEqual(parsed(dictionary(text()), null).value, {});
});

Deno.test("list() reports each invalid item with its index", () => {
  assert.deepEqual(parsed(list(port()), [1, "x", 2, -1]).said, [
    '[1] must be a port from 0 to 65535: current value is "x"',
    "[3] must be a port from 0 to 65535: current value is -1",
  ]);
  assert.deepEqual(parsed(list(port()), 1).said, [
    "must be a list: current value is 1, write it in brackets",
  ]);
  assert.deepEqual(parsed(list(port(), { max: 1 }), [1, 2]).said, [
    "must have at most 1 items: current count is 2",
  ]);
  assert.deepEqual(parsed(list(port()), null).value, []);
  assert.deepEqual(parsed(list(secret()), "hidden").said, ["must be a list"]);
});

Deno.test("oneOrMore() accepts a single item or a list", () => {
  assert.deepEqual(parsed(oneOrMore(text()), "a").value, ["a"]);
  assert.deepEqual(parsed(oneOrMore(text()), ["a", "b"]).value, ["a", "b"]);
  assert.deepEqual(parsed(oneOrMore(text()), []).said, [
    "must be a non-empty string, or a list of them: the list is empty",
  ]);
  assert.deepEqual(parsed(oneOrMore(text()), null).said, [
    "must be a non-empty string: current value is empty",
  ]);
});

Deno.test("either() reports the message of the only schema of that shape", () => {
  const address = either(text(), record({ address: text(), port: port() }));
  assert.deepEqual(parsed(address, "a").value, "a");
  assert.deepEqual(parsed(address, { address: "a", port: 1 }).value, { address: "a", port: 1 });
  assert.deepEqual(parsed(address, { address: "a", port: -1 }).said, [
    "port must be a port from 0 to 65535: current value is -1",
  ]);
  assert.deepEqual(parsed(address, 1).said, [
    "must be a non-empty string or a mapping with address, port: current value is 1",
  ]);
});

Deno.test("either() tries schemas of one shape in turn and shows no secrets", () => {
  const numbers = either(integer({ max: 1 }), integer({ min: 8, max: 9 }));
  assert.equal(parsed(numbers, 8).value, 8);
  assert.deepEqual(parsed(numbers, 5).said, [
    "must be a whole number of at most 1 or a whole number from 8 to 9: current value is 5",
  ]);
  assert.deepEqual(parsed(either(secret(), flag()), 4711).said, [
    "must be a non-empty string or true or false",
  ]);
});

const transports = dictionary(
  kinded({ ssh: text(), proxy: record({ url: text() }) }, {
    also: { via: optional(text()) },
    describe: "a transport",
  }),
);

Deno.test("kinded() recognizes kinds by their key and keeps the shared keys", () => {
  const { value } = parsed(transports, { a: { ssh: "jump1", via: "b" }, b: { proxy: { url: "u" } } });
  assert.deepEqual(value, {
    a: { kind: "ssh", settings: "jump1", via: "b" },
    b: { kind: "proxy", settings: { url: "u" } },
  });
  const b = value?.b;
  assert.equal(b?.kind === "proxy" ? b.settings.url : undefined, "u");
});

Deno.test("kinded() rejects a mapping with no kind, two kinds or an unknown kind", () => {
  const cases: [unknown, string[]][] = [
    [{ via: "x" }, ["t must be a transport with exactly one of ssh, proxy: found none"]],
    [{ ssh: "x", proxy: {} }, ["t must be a transport with exactly one of ssh, proxy: found ssh, proxy"]],
    [{ shs: "x" }, ['t.shs is not a known key, did you mean "ssh"?']],
    [null, ["t must be a transport with exactly one of ssh, proxy: current value is empty"]],
    [{ ssh: "x", via: 1 }, [
      "t.via must be a non-empty string: current value is 1, quote it",
    ]],
    [{ proxy: { ur: 1 } }, [
      't.proxy.ur is not a known key, did you mean "url"?',
      "t.proxy.url is missing: must be a non-empty string",
    ]],
  ];
  for (const [value, said] of cases) {
    assert.deepEqual(parsed(transports, { t: value }), { value: undefined, said });
  }
});

interface Tree {
  readonly inside?: Tree;
}
const tree: Schema<Tree> = record({ inside: optional(lazy(() => tree)) });

Deno.test("lazy() contains itself, up to a maximum depth", () => {
  assert.deepEqual(parsed(tree, { inside: { inside: {} } }).value, { inside: { inside: {} } });
  let deep: unknown = {};
  for (let i = 0; i < 200; i++) deep = { inside: deep };
  const { value, said } = parsed(tree, deep);
  assert.equal(value, undefined);
  assert.equal(said.length, 1);
  assert.match(said[0] ?? "", /is nested more than 100 levels deep$/);
});

Deno.test("refine() rejects by a returned message or a reported problem, and accepts warnings", () => {
  const even = refine(integer(), (value, context) => {
    if (value === 4) context.report("is a strange number", "warning");
    if (value === 6) context.report("must not be 6");
    return value % 2 === 0 ? undefined : "must be even";
  });
  assert.deepEqual(parsed(even, 2), { value: 2, said: [] });
  assert.deepEqual(parsed(even, 3), { value: undefined, said: ["must be even"] });
  assert.deepEqual(parsed(even, 4), { value: 4, said: ["warning: is a strange number"] });
  assert.deepEqual(parsed(even, 6), { value: undefined, said: ["must not be 6"] });
});

Deno.test("transformed() reports a PosternError and rethrows other errors", () => {
  const upper = transformed(text(), (value) => {
    if (value === "known") throw new PosternError("usage", "Cannot read it", { hint: "write more" });
    if (value === "bug") throw new TypeError("a bug");
    return value.toUpperCase();
  });
  assert.equal(parsed(upper, "a").value, "A");
  assert.deepEqual(parsed(upper, "known").said, ["Cannot read it, write more"]);
  assert.throws(() => parsed(upper, "bug"), TypeError);
});

Deno.test("transformed() also converts the fallback of an optional schema", () => {
  const schema = record({ a: transformed(optional(text(), "x"), (value) => value.length) });
  assert.deepEqual(parsed(schema, {}), { value: { a: 1 }, said: [] });
});

Deno.test("described() changes only the description", () => {
  const schema = record({ a: described(optional(text()), "The first letter.") });
  assert.deepEqual(parsed(schema, {}).value, {});
  assert.deepEqual(schema.json().properties, {
    a: { type: "string", minLength: 1, description: "The first letter." },
  });
});
