import assert from "node:assert/strict";
import { expandSshTokens, expandTilde } from "../../../../../src/ssh/config/language/ssh_config_tokens.ts";
import {
  matchesSshHostLine,
  matchesSshHostList,
  matchesSshPattern,
} from "../../../../../src/ssh/config/language/ssh_config_pattern.ts";
import { parsePort, parseSeconds } from "../../../../../src/ssh/config/language/ssh_config_numbers.ts";
import { parseSshConfig } from "../../../../../src/ssh/config/language/ssh_config_lines.ts";
import { parseSshCriteria } from "../../../../../src/ssh/config/language/ssh_config_criteria.ts";
import {
  parseSshDestination,
  parseSshJumps,
} from "../../../../../src/ssh/config/language/ssh_config_jump.ts";
import { parseSshHops } from "../../../../../src/ssh/config/language/ssh_config_hop.ts";
import { sshAlgorithms } from "../../../../../src/ssh/config/language/ssh_config_algorithms.ts";
import { sshOption, sshOptions } from "../../../../../src/ssh/config/language/ssh_config_options.ts";

Deno.test("parseSshConfig() returns keywords, arguments and line numbers", () => {
  const text = "# first\n\nHost a  'b c'\n\tUser=me # who\nProxyCommand  nc %h # %p\n";
  assert.deepEqual(parseSshConfig(text), [
    { line: 3, keyword: "host", written: "Host", rest: "a  'b c'", arguments: ["a", "b c"] },
    { line: 4, keyword: "user", written: "User", rest: "me # who", arguments: ["me"] },
    {
      line: 5,
      keyword: "proxycommand",
      written: "ProxyCommand",
      rest: "nc %h # %p",
      arguments: ["nc", "%h"],
    },
  ]);
});

const lines = [
  { text: 'User "me', fault: "a quote is not closed" },
  { text: '"User me', fault: "a quote is not closed" },
  { text: "User", fault: "the option has no argument" },
  { text: "User =", fault: "the option has no argument" },
  { text: "= x", fault: "the line has no keyword" },
];
for (const { text, fault } of lines) {
  Deno.test(`parseSshConfig() reports for ${JSON.stringify(text)}: ${fault}`, () => {
    assert.deepEqual(parseSshConfig(`\n${text}`).map((line) => [line.line, line.fault]), [[2, fault]]);
  });
}

Deno.test("parseSshConfig() reads a megabyte of blanks, quotes or words quickly", () => {
  const size = 1024 * 1024;
  const started = performance.now();
  for (const part of [" ", '"', "\\", "a ", "=", "'\""]) {
    parseSshConfig(`User ${part.repeat(size / part.length)}x`);
    parseSshConfig(part.repeat(size / part.length));
  }
  assert.ok(performance.now() - started < 10_000);
});

const patterns = [
  { text: "host", pattern: "host", matches: true },
  { text: "host", pattern: "h*t", matches: true },
  { text: "host", pattern: "h?st", matches: true },
  { text: "host", pattern: "?", matches: false },
  { text: "", pattern: "*", matches: true },
  { text: "", pattern: "", matches: true },
  { text: "Host", pattern: "host", matches: false },
  { text: "a.b.c", pattern: "*.*.c", matches: true },
  { text: "a.b.c", pattern: "*.b", matches: false },
  { text: "axb", pattern: "a.b", matches: false },
];
for (const { text, pattern, matches } of patterns) {
  Deno.test(`matchesSshPattern() ${matches ? "takes" : "refuses"} "${text}" for "${pattern}"`, () => {
    assert.equal(matchesSshPattern(text, pattern), matches);
  });
}

Deno.test("matchesSshPattern() is fast with many stars", () => {
  const started = performance.now();
  assert.equal(matchesSshPattern("a".repeat(1000), "*a".repeat(500) + "b"), false);
  assert.ok(performance.now() - started < 2000);
});

Deno.test("matchesSshHostList() and matchesSshHostLine() exclude a host by a negated pattern", () => {
  assert.equal(matchesSshHostList("A.b", "*.B,!x"), true);
  assert.equal(matchesSshHostList("a.b", "*,!a.*"), false);
  assert.equal(matchesSshHostList("a.b", "!x"), false);
  assert.equal(matchesSshHostLine("a", ["*", "!a"]), false);
  assert.equal(matchesSshHostLine("a", ["!b"]), false);
  assert.equal(matchesSshHostLine("a", ["!b", "a"]), true);
});

const tokens = [
  { text: "%h:%p %%", expanded: { text: "real:22 %" } },
  { text: "100%", expanded: { fault: 'the value ends with a lone "%"' } },
  { text: "%z", expanded: { fault: 'the token "%z" is not available here' } },
  { text: "%_", expanded: { fault: 'the token "%_" is not available here' } },
  { text: "${A}/${B}", expanded: { fault: 'the environment has no variable "B"' } },
  { text: "${A", expanded: { fault: 'a "${" is not closed' } },
  { text: "$A${A}%h", expanded: { text: "$A1real" } },
];
for (const { text, expanded } of tokens) {
  Deno.test(`expandSshTokens() of "${text}"`, () => {
    const env = (name: string) => name === "A" ? "1" : undefined;
    assert.deepEqual(expandSshTokens(text, { h: "real", p: "22" }, env), expanded);
  });
}

Deno.test("expandTilde() knows the local user's home directory only", () => {
  const me = { home: "/home/me", localUser: "me" };
  assert.deepEqual(expandTilde("~", me), { text: "/home/me" });
  assert.deepEqual(expandTilde("~//x", me), { text: "/home/me/x" });
  assert.deepEqual(expandTilde("~me/x", me), { text: "/home/me/x" });
  assert.deepEqual(expandTilde("/a/~", me), { text: "/a/~" });
  assert.deepEqual(expandTilde("~you/x", me), { fault: 'the home directory of "you" is not known' });
});

const criteria = [
  { rest: 'host a exec "x y"', names: ["host a", "exec x y"] },
  { rest: "!host=a,b final", names: ["!host a,b", "final "] },
  { rest: "ALL", names: ["all "] },
  // As OpenSSH 10 reads it.
  { rest: 'exec "test \\"%d\\" = x"', names: ['exec test "%d" = x'] },
  { rest: "exec 'a b' tagged t", names: ["exec a b", "tagged t"] },
];
for (const { rest, names } of criteria) {
  Deno.test(`parseSshCriteria() reads ${rest}`, () => {
    const read = parseSshCriteria(rest);
    assert.ok("criteria" in read);
    assert.deepEqual(
      read.criteria.map(({ name, isNegated, argument }) => `${isNegated ? "!" : ""}${name} ${argument}`),
      names,
    );
  });
}

for (const rest of ["", "# x", "all host a", "host a user b all", "host", "hots a", 'exec "x', "host #"]) {
  Deno.test(`parseSshCriteria() refuses "${rest}"`, () => {
    const known = rest === "host a user b all" ? "cannot be combined" : "";
    const read = parseSshCriteria(rest);
    assert.ok("fault" in read && read.fault.includes(known));
  });
}

Deno.test("parseSshJumps() and parseSshDestination() read the values of ProxyJump", () => {
  assert.deepEqual(parseSshJumps("a,me@b:23,[::1]:24 # gate"), [
    { host: "a" },
    { user: "me", host: "b", port: 23 },
    { host: "::1", port: 24 },
  ]);
  assert.deepEqual(parseSshJumps("= NONE"), []);
  assert.deepEqual(parseSshDestination("ssh://a%40b;x=y@[::1]:99/"), { user: "a@b", host: "::1", port: 99 });
  const wrong = [
    "",
    "a,",
    "@a",
    "a:0",
    "a:65536",
    "a/22",
    "[::1",
    "::1",
    "[]",
    "ssh://",
    "ssh://a/b",
    "ssh://%4@a",
  ];
  for (const text of wrong) assert.equal(parseSshJumps(text), undefined, text);
});

const target = { host: "real", port: 22, config: "/c" };
const gate = [{ host: "gate" }];
const hops = [
  { command: "ssh -W %h:%p gate", hops: gate },
  { command: "ssh -W %h:%p -- gate", hops: gate },
  { command: "exec /usr/bin/ssh -qTx -W [%h]:%p gate", hops: gate },
  { command: "ssh gate -W%h:%p", hops: gate },
  { command: "ssh -q -W '%h:%p' \"gate\"", hops: gate },
  { command: "ssh -W REAL:22 gate", hops: gate },
  { command: "ssh -l me -p 2222 -W %h:%p gate", hops: [{ user: "me", host: "gate", port: 2222 }] },
  { command: "ssh -W %h:%p -p23 me@gate", hops: [{ user: "me", host: "gate", port: 23 }] },
  { command: "ssh -W %h:%p ssh://me@gate:24", hops: [{ user: "me", host: "gate", port: 24 }] },
  { command: "ssh -J a,b -W %h:%p gate", hops: [{ host: "a" }, { host: "b" }, { host: "gate" }] },
  {
    command: "ssh -F /c -o ControlMaster=no -o 'User me' -W %h:%p gate",
    hops: [{ user: "me", host: "gate" }],
  },
  // Not simple, or some meaning would be lost: such a command runs unchanged.
  { command: "ssh -F /other -W %h:%p gate", hops: undefined },
  { command: "ssh -i key -W %h:%p gate", hops: undefined },
  { command: "ssh -o StrictHostKeyChecking=no -W %h:%p gate", hops: undefined },
  { command: "ssh -W elsewhere:22 gate", hops: undefined },
  { command: "ssh -W %h:23 gate", hops: undefined },
  { command: "ssh -W %h:%p -W other:1 gate", hops: undefined },
  { command: "ssh -W %h:%p", hops: undefined },
  { command: "ssh -W %h:%p gate sleep 1", hops: undefined },
  { command: "ssh gate nc %h %p", hops: undefined },
  { command: "ssh -W %h:%p $GATE", hops: undefined },
  { command: "ssh -W %h:%p gate 2>/dev/null", hops: undefined },
  { command: "ssh -W %h:%p gate; true", hops: undefined },
  { command: "sshx -W %h:%p gate", hops: undefined },
  { command: "ssh -W %h:%p -p x gate", hops: undefined },
  { command: "ssh -W %h:%p -p", hops: undefined },
  { command: "nc %h %p", hops: undefined },
  { command: "", hops: undefined },
];
for (const { command, hops: expected } of hops) {
  Deno.test(`parseSshHops() makes ${expected ? "hops" : "no hops"} of "${command}"`, () => {
    const expanded = command.replaceAll("%h", target.host).replaceAll("%p", String(target.port));
    assert.deepEqual(parseSshHops(expanded, target), expected);
  });
}

Deno.test("sshAlgorithms() keeps names of newer versions", () => {
  assert.deepEqual(sshAlgorithms("kexalgorithms", "mlkem768x25519-sha256,curve25519-sha256"), [
    "mlkem768x25519-sha256",
    "curve25519-sha256",
  ]);
  assert.equal(sshAlgorithms("kexalgorithms", "^mlkem768x25519-sha256")[0], "mlkem768x25519-sha256");
  assert.equal(sshAlgorithms("kexalgorithms", "+mlkem768x25519-sha256").at(-1), "mlkem768x25519-sha256");
  assert.deepEqual(sshAlgorithms("ciphers", "+aes128-ctr"), sshAlgorithms("ciphers", "-"));
});

Deno.test("parseSeconds() and parsePort() reject invalid values", () => {
  const seconds = ["90", "1m30", "1M30S", "2h", "1d", "1w", "0"];
  assert.deepEqual(seconds.map(parseSeconds), [90, 90, 90, 7200, 86_400, 604_800, 0]);
  for (const text of ["", "x", "-1", "1.5", "1y", "99999999999", "1".repeat(100)]) {
    assert.equal(parseSeconds(text), undefined, text);
  }
  assert.deepEqual(["1", "65535", "ssh"].map(parsePort), [1, 65535, 22]);
  for (const text of ["0", "65536", "", "a", "1.0", "+1"]) assert.equal(parsePort(text), undefined, text);
});

Deno.test("sshOptions has each name once, and blocks options that affect trust or the path", () => {
  const blocking = [...sshOptions.values()].filter((option) => option.class === "blocking").map(({ name }) =>
    name
  );
  assert.deepEqual(blocking.toSorted(), [
    "BindInterface",
    "CanonicalizeHostname",
    "CanonicalizePermittedCNAMEs",
    "CheckHostIP",
    "KnownHostsCommand",
    "RefuseConnection",
    "RevokedHostKeys",
    "VerifyHostKeyDNS",
  ]);
  for (const [key, { name }] of sshOptions) assert.equal(key, name.toLowerCase());
  for (const option of sshOptions.values()) {
    assert.equal(option.kind !== undefined, option.class === "supported", option.name);
  }
  assert.equal(sshOption("pubkeyacceptedkeytypes")?.name, "PubkeyAcceptedAlgorithms");
  assert.equal(sshOption("hostnam"), undefined);
  assert.equal(sshOption("constructor"), undefined);
});
