import assert from "node:assert/strict";
import { parsePattern, type Rule, type Tier } from "../../src/routing/mod.ts";

/**
 * Parses rules from lines `TIER: PATTERN > TRANSPORT [OWNER]`; the tier `own` is an exclusion for its cluster
 * only.
 */
export function rulesOf(lines: readonly string[]): Rule[] {
  return lines.map((line, index) => {
    const match = /^(direct|routes|exclusions|own|catalogue): (\S+) > (\w+)(?: \[(\w+)\])?$/.exec(line);
    assert.ok(match, line);
    const [, tier = "", text = "", transport = "", owner] = match;
    const parsed = parsePattern(text);
    assert.ok("pattern" in parsed, text);
    return {
      text,
      pattern: parsed.pattern,
      transport,
      source: `test:${index + 1}`,
      tier: (tier === "own" ? "exclusions" : tier) as Tier,
      ...(owner && { owner }),
      ...(tier === "own" && { confined: true }),
    };
  });
}
