import assert from "node:assert/strict";
import {
  choice,
  duration,
  flag,
  formatDuration,
  integer,
  parseDuration,
  port,
  type Schema,
  secret,
  text,
} from "../../../src/config/mod.ts";
import { parsed } from "./schema_cases.ts";

interface Right {
  readonly name: string;
  readonly schema: Schema<unknown>;
  readonly values: readonly unknown[];
}

const rights: Right[] = [
  { name: "text()", schema: text(), values: ["a", "ä", "null", " "] },
  { name: "text({min: 0})", schema: text({ min: 0 }), values: ["", "a"] },
  { name: "text({pattern})", schema: text({ pattern: /^[a-z]+$/g }), values: ["abc", "abc", "abc"] },
  { name: "secret()", schema: secret(), values: ["a"] },
  { name: "integer()", schema: integer(), values: [0, -1, Number.MAX_SAFE_INTEGER] },
  { name: "port()", schema: port(), values: [0, 1, 65535] },
  { name: "flag()", schema: flag(), values: [true, false] },
  { name: "choice()", schema: choice("http", "socks"), values: ["http", "socks"] },
];
for (const { name, schema, values } of rights) {
  Deno.test(`${name} returns valid values unchanged`, () => {
    for (const value of values) assert.deepEqual(parsed(schema, value), { value, said: [] });
  });
}

const wrongs: { name: string; schema: Schema<unknown>; value: unknown; says: string }[] = [
  {
    name: "text() of an empty string",
    schema: text(),
    value: "",
    says: 'must be a non-empty string: current value is ""',
  },
  {
    name: "text() of a number",
    schema: text(),
    value: 10,
    says: "must be a non-empty string: current value is 10, quote it",
  },
  {
    name: "text() of a list",
    schema: text(),
    value: [],
    says: "must be a non-empty string: current value is a list",
  },
  {
    name: "text() of null",
    schema: text(),
    value: null,
    says: "must be a non-empty string: current value is empty",
  },
  {
    name: "text({max})",
    schema: text({ max: 3 }),
    value: "abcd",
    says: 'must be a string of 1 to 3 characters: current value is "abcd"',
  },
  {
    name: "text({pattern, describe})",
    schema: text({ pattern: /^[a-z]+$/, describe: "a name" }),
    value: "A".repeat(100),
    says: `must be a name: current value is "${"A".repeat(60)}…"`,
  },
  {
    name: "secret() of a number",
    schema: secret(),
    value: 4711,
    says: "must be a non-empty string: quote it",
  },
  {
    name: "secret() of a mapping",
    schema: secret(),
    value: { a: "hidden" },
    says: "must be a non-empty string",
  },
  {
    name: "port()",
    schema: port(),
    value: 99999,
    says: "must be a port from 0 to 65535: current value is 99999",
  },
  {
    name: "port() of a string",
    schema: port(),
    value: "80",
    says: 'must be a port from 0 to 65535: current value is "80", remove the quotes',
  },
  {
    name: "integer() of a fraction",
    schema: integer({ min: 1 }),
    value: 1.5,
    says: "must be a whole number of at least 1: current value is 1.5",
  },
  {
    name: "integer() of NaN",
    schema: integer({ max: 9 }),
    value: NaN,
    says: "must be a whole number of at most 9: current value is NaN",
  },
  {
    name: "flag() of yes",
    schema: flag(),
    value: "yes",
    says: 'must be true or false: current value is "yes"',
  },
  {
    name: "choice()",
    schema: choice("http", "https", "socks5"),
    value: "sokcs5",
    says: 'must be http, https or socks5: current value is "sokcs5", did you mean "socks5"?',
  },
  {
    name: "duration() without unit",
    schema: duration(),
    value: 30,
    says: "must be a duration such as 10s or 1m30s: current value is 30, add a unit: 30s",
  },
  {
    name: "duration({min, max})",
    schema: duration({ min: 1000, max: 60_000 }),
    value: "2m",
    says: 'must be a duration of at least 1s and at most 1m such as 10s or 1m30s: current value is "2m"',
  },
  {
    name: "duration() of off",
    schema: duration(),
    value: "off",
    says: 'must be a duration such as 10s or 1m30s: current value is "off"',
  },
];
for (const { name, schema, value, says } of wrongs) {
  Deno.test(`${name} is rejected with a description of valid values`, () => {
    assert.deepEqual(parsed(schema, value), { value: undefined, said: [says] });
  });
}

const lengths: [string, number][] = [
  ["10s", 10_000],
  ["1m30s", 90_000],
  ["500ms", 500],
  ["2h", 7_200_000],
  ["24h", 86_400_000],
  ["1d", 86_400_000],
  ["0.5s", 500],
  ["1h2m3s4ms", 3_723_004],
  ["0s", 0],
];
Deno.test("duration() reads all units", () => {
  for (const [written, ms] of lengths) assert.deepEqual(parsed(duration(), written), { value: ms, said: [] });
  assert.equal(parsed(duration(), 0).value, 0);
  assert.equal(parsed(duration({ off: true }), "off").value, 0);
});

Deno.test("parseDuration() rejects text that is not a duration", () => {
  for (
    const written of [
      "",
      "s",
      "10",
      "10 s",
      "-1s",
      "1s1m",
      "1.s",
      "1e3s",
      "ms",
      "1S",
      "1m ",
      "9".repeat(400) + "s",
    ]
  ) {
    assert.equal(parseDuration(written), undefined, written);
  }
});

Deno.test("parseDuration() reads the output of formatDuration()", () => {
  for (const ms of [0, 1, 999, 1000, 1001, 59_999, 60_000, 90_000, 3_600_000, 86_400_000]) {
    assert.equal(parseDuration(formatDuration(ms)), ms);
  }
  assert.equal(formatDuration(90_000), "1m30s");
});
