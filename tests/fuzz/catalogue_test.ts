import assert from "node:assert/strict";
import fc from "fast-check";
import { describeWarning } from "../../src/clusters/mod.ts";
import { readClusters } from "../../src/catalogue/read_clusters.ts";
import { readDomain } from "../../src/catalogue/read_domain.ts";
import { routesOf } from "../../src/catalogue/mod.ts";
import { catalogueRules, parsePattern, Router } from "../../src/routing/mod.ts";
import { fuzzRuns } from "../support/fuzz_runs.ts";

const character = fc.constantFrom(..."abXY019-._:/*?#@[]%,; \t\n\\'\"`$(){}<>|&éß\u202e\u0000");
const text = fc.string({ unit: character, maxLength: 40 });
const label = fc.stringMatching(/^[a-zA-Z0-9_-]{1,10}$/);
const domain = fc.array(label, { minLength: 1, maxLength: 5 }).map((labels) => labels.join("."));
const anything = fc.oneof(domain, text, fc.jsonValue({ maxDepth: 3 }), fc.array(fc.oneof(domain, text)));
const facts = fc.dictionary(
  fc.constantFrom(
    "jumphost",
    "jumphostDomains",
    "jumphostSkipDomains",
    "openshiftBaseDomain",
    "openshiftApiURL",
    "__proto__",
  ),
  anything,
);
const cluster = fc.record({
  id: fc.oneof(label, anything),
  displayName: anything,
  facts,
  dynamicFacts: facts,
}, { requiredKeys: [] });

Deno.test("readDomain() returns a pattern of at least two labels, or a problem", () => {
  fc.assert(
    fc.property(fc.oneof(domain, text, fc.webUrl()), (written) => {
      const read = readDomain(written);
      if ("problem" in read) return assert.match(read.problem, /^(?:it|everybody)/);
      const parsed = parsePattern(read.pattern);
      assert.ok("pattern" in parsed && parsed.pattern.kind === "name", read.pattern);
      assert.ok(parsed.pattern.name.includes("."), read.pattern);
      assert.ok(parsed.pattern.scope !== "exact" && parsed.pattern.port === undefined);
      assert.deepEqual(readDomain(read.pattern), read);
      assert.deepEqual(readDomain(` ${read.pattern.toUpperCase()}. `), read);
      assert.deepEqual(readDomain(`https://${read.pattern}:6443/x`), read);
    }),
    { numRuns: fuzzRuns(500) },
  );
});

Deno.test("readClusters() and routesOf() accept any list, with valid rules and one-line warnings", () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(cluster, fc.jsonValue())), (items) => {
      const value: unknown = JSON.parse(JSON.stringify(items));
      const { clusters, warnings: odd } = readClusters(value);
      assert.equal(new Set(clusters.map(({ id }) => id)).size, clusters.length);
      assert.deepEqual(readClusters(JSON.parse(JSON.stringify(clusters))).clusters, clusters);
      const { routes, warnings } = routesOf({ name: "main", source: "", fetched: "", clusters });
      for (const warning of [...odd, ...warnings]) {
        // deno-lint-ignore no-control-regex -- output must not control a terminal
        assert.doesNotMatch(describeWarning(warning), /[\x00-\x1f\x7f-\x9f\u202e]/);
        assert.ok(describeWarning(warning).length < 500);
      }
      for (const { jumphost } of routes) {
        assert.match(jumphost ?? "x", /^[^-\s'"`$();&|<>][^\s'"`$();&|<>]*$/);
      }
      const rules = catalogueRules(routes, { exclusions: "own", transportOf: () => "way" });
      assert.equal(rules.length, routes.length);
      const router = new Router({ rules });
      for (const rule of rules) {
        if (rule.pattern.kind === "name") router.route({ host: rule.pattern.name, port: 443 });
      }
    }),
    { numRuns: fuzzRuns(300) },
  );
});
