import assert from "node:assert/strict";
import { conflicts } from "../../../src/routing/mod.ts";
import { shadows } from "../../../src/routing/rule_report.ts";
import { rulesOf } from "../../support/rules.ts";

Deno.test("conflicts() returns equal rules with different transports", () => {
  const rules = rulesOf([
    "routes: a.test > one",
    "routes: A.test. > two",
    "routes: a.test > one",
    "routes: .a.test > two",
    "routes: a.test:443 > two",
    "routes: 10.1.1.1/8 > one",
    "routes: 10.0.0.0/8 > two",
    "direct: a.test > direct",
    "catalogue: a.test > two",
    "routes: <services> > one",
    "routes: <services> > two",
  ]);
  assert.deepEqual(
    conflicts(rules).map(({ kept, ignored }) => [kept.source, ignored.source]),
    [["test:1", "test:2"], ["test:6", "test:7"]],
  );
});

Deno.test("shadows() returns exclusions over another cluster's longer route", () => {
  const rules = rulesOf([
    "exclusions: apps.example.net > direct [c1]",
    "exclusions: .only.example.net > direct [c1]",
    "exclusions: 10.0.0.0/8 > direct [c1]",
    "exclusions: ported.example.net:443 > direct [c1]",
    "own: own.example.net > direct [c1]",
    "catalogue: console.apps.example.net > two [c2]",
    "catalogue: apps.example.net > two [c2]",
    "catalogue: x.apps.example.net > one [c1]",
    "catalogue: =only.example.net > two [c2]",
    "catalogue: 10.1.0.0/16 > two [c2]",
    "catalogue: ported.example.net:80 > two [c2]",
    "catalogue: a.own.example.net > two [c2]",
    "catalogue: notapps.example.net > two [c2]",
    "exclusions: =exact.example.net > direct [c1]",
    "catalogue: a.exact.example.net > two [c2]",
    "catalogue: .exact.example.net > two [c2]",
    "catalogue: exact.example.net > two [c2]",
  ]);
  assert.deepEqual(
    shadows(rules).map(({ exclusion, route }) => [exclusion.source, route.source]),
    [["test:1", "test:6"], ["test:1", "test:7"], ["test:3", "test:10"], ["test:14", "test:17"]],
  );
});
