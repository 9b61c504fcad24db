import assert from "node:assert/strict";
import { wildcardPattern } from "../../../src/core/mod.ts";

const cases: readonly (readonly [pattern: string, text: string, matches: boolean])[] = [
  ["a*c", "abbc", true],
  ["a*c", "ac", true],
  ["a*c", "acd", false],
  ["*b*", "a\nb\nc", true],
  ["a?c", "abc", true],
  ["a?c", "ac", false],
  ["a.c", "abc", false],
  ["a.c", "a.c", true],
  ["[a]$^(b|c){1}+\\", "[a]$^(b|c){1}+\\", true],
  ["", "", true],
  ["", "a", false],
];

for (const [pattern, text, matches] of cases) {
  Deno.test(`wildcardPattern() of ${JSON.stringify(pattern)} ${matches ? "matches" : "does not match"} ${JSON.stringify(text)}`, () => {
    assert.equal(wildcardPattern(pattern).test(text), matches);
  });
}
