import assert from "node:assert/strict";
import { formatPattern, parseRouteLines } from "../../../src/routing/mod.ts";

Deno.test("parseRouteLines() reads patterns and transports with their lines", () => {
  const text = [
    "\uFEFF# a list",
    "",
    "example.com lab",
    "  .svc\tlab   # the rest of a line",
    '"*" corp\r',
    "10.1.2.3/8 direct",
    "[2001:db8::/32]:443 'x'",
  ].join("\n");
  const { rules, problems } = parseRouteLines(text, { name: "big.txt" });
  assert.deepEqual(
    rules.map(({ pattern, transport, source, tier }) => [formatPattern(pattern), transport, source, tier]),
    [
      ["example.com", "lab", "big.txt:3", "routes"],
      [".svc", "lab", "big.txt:4", "routes"],
      ["any", "corp", "big.txt:5", "routes"],
      ["10.0.0.0/8", "direct", "big.txt:6", "routes"],
      ["[2001:db8::/32]:443", "'x'", "big.txt:7", "routes"],
    ],
  );
  assert.deepEqual(problems, [{
    line: 6,
    severity: "warning",
    message: "10.1.2.3/8 has host bits beyond its prefix, so it means the network 10.0.0.0/8",
  }]);
});

Deno.test("parseRouteLines() reports every invalid line and keeps the others", () => {
  const { rules, problems } = parseRouteLines("a.test\na.test b c\nexa*mple lab\nok.test lab", {
    name: "big.txt",
  });
  assert.equal(rules.length, 1);
  assert.deepEqual(problems.map(({ line, severity }) => [line, severity]), [[1, "error"], [2, "error"], [
    3,
    "error",
  ]]);
  assert.match(problems[0]?.message ?? "", /^must be a pattern and a transport: current value is "a.test"$/);
  assert.match(problems[2]?.message ?? "", /^must have "\*" only at the start/);
});
