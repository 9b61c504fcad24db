import assert from "node:assert/strict";
import { catalogueNotes, catalogueRules, Router } from "../../../src/routing/mod.ts";
import type { RoutedDomain } from "../../../src/routing/catalogue_rules.ts";

interface Domain extends RoutedDomain {
  readonly jumphost: string;
}

const base = "c-one.example.net";
const one: readonly Domain[] = [
  domain("exclusion", `apps.${base}`, "jumphostSkipDomains"),
  domain("route", `console.apps.${base}`, "openshiftConsoleURL"),
  domain("route", base, "openshiftBaseDomain"),
];

const cases = [
  {
    host: `api.${base}`,
    transport: "ssh:jump-one",
    because: `rule "${base}" (catalogue main: cluster c-one fact openshiftBaseDomain)`,
  },
  {
    host: `console.apps.${base}`,
    transport: "direct",
    because: `exclusion "apps.${base}" (catalogue main: cluster c-one fact jumphostSkipDomains)`,
  },
  { host: `evil${base}`, transport: "direct", because: "default" },
];
for (const { host, transport, because } of cases) {
  Deno.test(`catalogueRules() route ${host} with their source`, () => {
    const route = new Router({ rules: rulesOf(one) }).route({ host, port: 443 });
    assert.deepEqual([route.transport, route.because], [transport, because]);
  });
}

for (const exclusions of ["global", "own"] as const) {
  Deno.test(`catalogueRules() with exclusions: ${exclusions} let a cluster exclude ${exclusions === "own" ? "only its own" : "another's"} domains`, () => {
    const other = domain("route", `shop.apps.${base}`, "jumphostDomains", {
      cluster: "c-two",
      jumphost: "jump-two",
    });
    const router = new Router({ rules: rulesOf([...one, other], exclusions) });
    const way = (host: string) => router.route({ host, port: 443 }).transport;
    assert.equal(way(`shop.apps.${base}`), exclusions === "own" ? "ssh:jump-two" : "direct");
    assert.equal(way(`console.apps.${base}`), "direct");
  });
}

Deno.test("catalogueRules() rank below the file's rules", () => {
  const rules = rulesOf(one);
  const file = {
    text: "example.net",
    pattern: { kind: "name", name: "example.net", scope: "tree" },
    transport: "file",
    source: "f:1",
    tier: "routes",
  } as const;
  assert.equal(
    new Router({ rules: [file, ...rules] }).route({ host: `api.${base}`, port: 443 }).transport,
    "file",
  );
});

Deno.test("catalogueRules() skip domains without a transport", () => {
  assert.equal(catalogueRules(one, { exclusions: "global", transportOf: () => undefined }).length, 1);
});

Deno.test("catalogueNotes() reports an exclusion over another cluster's longer route, and conflicting routes", () => {
  const rules = rulesOf([
    ...one,
    domain("route", `shop.apps.${base}`, "jumphostDomains", { cluster: "c-two", jumphost: "jump-two" }),
    domain("route", base, "jumphostDomains", { cluster: "c-two", jumphost: "jump-two" }),
    domain("route", base, "jumphostDomains", { cluster: "c-three", jumphost: "jump-one" }),
  ]);
  assert.deepEqual(catalogueNotes(rules), [
    `main: cluster c-one fact jumphostSkipDomains: the exclusion apps.${base} takes shop.apps.${base} from main: cluster c-two fact jumphostDomains`,
    `main: cluster c-two fact jumphostDomains: ${base} is already routed to ssh:jump-one: main: cluster c-one fact openshiftBaseDomain`,
  ]);
  assert.deepEqual(catalogueNotes(rulesOf(one)), []);
});

Deno.test("catalogueNotes() combines many similar conflicts in one line", () => {
  const domains: Domain[] = [];
  for (let cluster = 0; cluster < 1000; cluster++) {
    const own = { cluster: `c-${cluster}`, jumphost: `jump-${cluster % 2}` };
    domains.push(domain("exclusion", "shared.example.net", "jumphostSkipDomains", own));
    for (let name = 0; name < 20; name++) {
      domains.push(domain("route", `n${name}.shared.example.net`, "jumphostDomains", own));
    }
  }
  const notes = catalogueNotes(rulesOf(domains));
  assert.equal(
    notes[0],
    "main: cluster c-0 fact jumphostSkipDomains: the exclusion shared.example.net takes n0.shared.example.net " +
      "from main: cluster c-1 fact jumphostDomains, and 19979 more like this",
  );
  assert.equal(
    notes[1],
    "main: cluster c-1 fact jumphostDomains: n0.shared.example.net is already routed to ssh:jump-0: " +
      "main: cluster c-0 fact jumphostDomains, and 19 more like this",
  );
  assert.equal(notes.length, 501);
});

Deno.test("catalogueRules() distinguish clusters of the same name in two catalogues", () => {
  const other = domain("route", `shop.apps.${base}`, "jumphostDomains", { catalogue: "other" });
  const router = new Router({ rules: rulesOf([...one, other], "own") });
  assert.equal(router.route({ host: `shop.apps.${base}`, port: 1 }).transport, "ssh:jump-one");
});

function rulesOf(domains: readonly Domain[], exclusions: "global" | "own" = "global") {
  return catalogueRules(domains, { exclusions, transportOf: ({ jumphost }) => `ssh:${jumphost}` });
}

function domain(kind: Domain["kind"], pattern: string, fact: string, more: Partial<Domain> = {}): Domain {
  return { kind, pattern, fact, catalogue: "main", cluster: "c-one", jumphost: "jump-one", ...more };
}
