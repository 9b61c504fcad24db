import assert from "node:assert/strict";
import { checkNoProxy } from "../../../../src/egress/mod.ts";

type Row = readonly [valid: boolean, items: readonly string[]];

const rows: readonly Row[] = [
  [true, ["example.com", ".example.com", "example.com.", ".example.com."]],
  [true, ["*"]],
  [false, [" *", "*,example.com"]],
  [false, ["*.example.com"]],
  [false, ["example.com,", ",example.com", "a.com,,b.com"]],
  [true, ["a.com, b.com", "a.com,\tb.com", "\na.com\n,b.com"]],
  [false, ["a.com b.com", "a.com;b.com"]],
  [false, ["EXAMPLE.com"]],
  [false, ["foo_bar.com", "a-.com", "-a.com", "a..b", ".", "..", "..a"]],
  [false, ["example.com:8080", "10.0.0.1:80"]],
  [true, ["10.0.0.1", "10.0.0.0/16", "10.0.0.5/16"]],
  [false, ["10.0.0.0/33"]],
  [true, ["999.999.999.999", "123.10", "1", "10.", "010.0.0.1", "10.0.0.1-10.0.0.9"]],
  [false, ["10.0.*"]],
  [true, ["2001:db8::1", "2001:db8::/32", "::", "::/0", "::ffff:10.0.0.1"]],
  [false, ["[2001:db8::1]", "fe80::1%eth0"]],
  [true, ["0.0.0.0/0"]],
  [false, ["http://example.com"]],
  [true, ["xn--mnchen-3ya.de"]],
  [false, ["münchen.de"]],
  [false, ["a".repeat(254)]],
  [true, ["a".repeat(253), `.${"a".repeat(253)}.`]],
];

for (const [valid, lists] of rows) {
  Deno.test(`checkNoProxy() ${valid ? "accepts" : "rejects"} ${lists.map((text) => JSON.stringify(text.slice(0, 40))).join(" ")}`, () => {
    for (const list of lists) {
      const { problems } = checkNoProxy(list);
      assert.equal(problems.length === 0, valid, `${JSON.stringify(list)}: ${JSON.stringify(problems)}`);
      for (const { path } of problems) assert.deepEqual(path, ["spec", "noProxy"]);
    }
  });
}

Deno.test("checkNoProxy() reports every empty item", () => {
  const { problems } = checkNoProxy(",a.com,,b.com,");
  assert.deepEqual(problems.map(({ message }) => message.slice(0, 15)), [
    "item 1 is empty",
    "item 3 is empty",
    "item 5 is empty",
  ]);
});

for (const item of ["999.999.999.999", "123.10", "1", "10.", "010.0.0.1", "10.0.0.1-10.0.0.9"]) {
  Deno.test(`checkNoProxy() warns that ${item} matches nothing`, () => {
    const { problems, warnings } = checkNoProxy(`good.test,${item}`);
    assert.deepEqual(problems, []);
    assert.deepEqual(warnings.map(({ reason }) => reason), ["MatchesNothing"]);
    assert.match(warnings[0]?.message ?? "", /^item 2 ".*" matches nothing/);
  });
}

const doubtful = [
  { list: "*", reason: "EverythingDirect" },
  { list: "0.0.0.0/0", reason: "ClientsDisagree" },
  { list: "::/0", reason: "ClientsDisagree" },
  { list: "example.com.", reason: "ClientsDisagree" },
];
for (const { list, reason } of doubtful) {
  Deno.test(`checkNoProxy() warns about ${list}`, () => {
    assert.deepEqual(checkNoProxy(list).warnings.map((warning) => warning.reason), [reason]);
  });
}

const explained = [
  ["*.example.com", /has a wildcard: write "\.example\.com"/],
  ["example.com:8080", /has a port/],
  ["EXAMPLE.com", /has uppercase letters/],
  ["a.com b.com", /only commas separate/],
  ["[::1]", /has brackets/],
  ["münchen.de", /punycode/],
  ["foo_bar.com", /underscore/],
  ["10.0.0.0/33", /is not a network/],
  ["*,a.com", /may only stand alone/],
] as const;
for (const [list, says] of explained) {
  Deno.test(`checkNoProxy() explains what is wrong with ${list}`, () => {
    assert.match(checkNoProxy(list).problems[0]?.message ?? "", says);
  });
}

Deno.test("checkNoProxy() does not quote a password", () => {
  const { problems } = checkNoProxy("http://me:hunter2@proxy.test/");
  assert.equal(problems.length, 1);
  assert.doesNotMatch(JSON.stringify(problems), /hunter2/);
});

Deno.test("checkNoProxy() rejects spaces where the installer does", () => {
  assert.deepEqual(checkNoProxy("a.com, b.com").problems, []);
  const { problems } = checkNoProxy("a.com, b.com", { refusesSpaces: true });
  assert.deepEqual(problems.map(({ reason }) => reason), ["NoProxySpace"]);
});

Deno.test("checkNoProxy() reports 20 of 10,000 invalid items", () => {
  const list = Array.from({ length: 10_000 }, (_, index) => `Bad${index}`).join(",");
  const { problems } = checkNoProxy(list);
  assert.equal(problems.length, 21);
  assert.match(problems.at(-1)?.message ?? "", /^10000 items in total/);
});
