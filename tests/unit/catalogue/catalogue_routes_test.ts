import assert from "node:assert/strict";
import { type Catalogue, describeWarning } from "../../../src/clusters/mod.ts";
import { type CatalogueRoute, routesOf } from "../../../src/catalogue/mod.ts";
import { readClusters } from "../../../src/catalogue/read_clusters.ts";

const base = "c-bettersmarter-prod01.vshnmanaged.net";
const jumphost = "management4.rma1.bettersmarter.vshnmanaged.net";

/** The case from kharon's documentation. */
const reference = {
  id: "c-bettersmarter-prod01",
  tenant: "t-bettersmarter",
  displayName: "BetterSmarter Prod01",
  facts: {
    jumphost,
    jumphostDomains: "vcenter.bettersmarter.ch,storage.bettersmarter.ch",
    jumphostSkipDomains: `apps.${base}`,
  },
  dynamicFacts: {
    openshiftBaseDomain: base,
    openshiftAppsDomain: `apps.${base}`,
    openshiftApiURL: `https://api.${base}:6443`,
    openshiftConsoleURL: `https://console.apps.${base}`,
  },
};

Deno.test("routesOf() handles the reference case", () => {
  const { routes, warnings } = routesOf(catalogue([reference]));
  assert.deepEqual(routes.map(({ kind, pattern }) => `${kind} ${pattern}`), [
    `exclusion apps.${base}`,
    `route console.apps.${base}`,
    `route apps.${base}`,
    `route api.${base}`,
    `route ${base}`,
    "route storage.bettersmarter.ch",
    "route vcenter.bettersmarter.ch",
  ]);
  assert.deepEqual(warnings, []);
  assert.deepEqual(
    routes.find(({ pattern }) => pattern === "storage.bettersmarter.ch"),
    {
      kind: "route",
      pattern: "storage.bettersmarter.ch",
      jumphost,
      catalogue: "main",
      cluster: "c-bettersmarter-prod01",
      fact: "jumphostDomains",
    } satisfies CatalogueRoute,
  );
});

const without: { readonly name: string; readonly facts: Record<string, unknown> }[] = [
  { name: "none", facts: {} },
  { name: "an empty one", facts: { jumphost: "" } },
  { name: "one of blanks", facts: { jumphost: "  " } },
  { name: "null", facts: { jumphost: null } },
];
for (const { name, facts } of without) {
  Deno.test(`routesOf() creates no routes for a cluster whose jumphost is ${name}`, () => {
    const given = { ...reference, facts: { ...reference.facts, jumphost: undefined, ...facts } };
    assert.deepEqual(routesOf(catalogue([given])), { routes: [], warnings: [] });
  });
}

Deno.test("routesOf() ignores a jumphost that the cluster itself reports", () => {
  const dynamicFacts = {
    ...reference.dynamicFacts,
    jumphost: "evil.example.net",
    jumphostDomains: "bank.example",
  };
  assert.deepEqual(routesOf(catalogue([{ ...reference, facts: {}, dynamicFacts }])).routes, []);
});

const written: { readonly name: string; readonly value: unknown; readonly gives: readonly string[] }[] = [
  {
    name: "blanks and empty items",
    value: " a.example.com , ,b.example.com,, ",
    gives: ["a.example.com", "b.example.com"],
  },
  { name: "capitals and a trailing dot", value: "A.Example.COM.", gives: ["a.example.com"] },
  { name: "a URL", value: "https://A.example.com:8443/path?x=1#y", gives: ["a.example.com"] },
  { name: "a URL with a user", value: "https://me:secret@a.example.com", gives: ["a.example.com"] },
  { name: "a name with a port", value: "a.example.com:443", gives: ["a.example.com"] },
  { name: "a name with a path", value: "a.example.com/path", gives: ["a.example.com"] },
  {
    name: "a list",
    value: ["a.example.com", "b.example.com, c.example.com"],
    gives: ["a.example.com", "b.example.com", "c.example.com"],
  },
  { name: "lines", value: "a.example.com\nb.example.com\r\n", gives: ["a.example.com", "b.example.com"] },
  { name: "semicolons", value: "a.example.com;b.example.com", gives: ["a.example.com", "b.example.com"] },
  {
    name: "the names below a domain",
    value: "*.a.example.com .b.example.com",
    gives: [".a.example.com", ".b.example.com"],
  },
  { name: "an international name", value: "bücher.example", gives: ["xn--bcher-kva.example"] },
  { name: "the same twice", value: "a.example.com, A.example.com", gives: ["a.example.com"] },
  { name: "null", value: null, gives: [] },
  { name: "an empty text", value: "", gives: [] },
  { name: "an empty list", value: [], gives: [] },
];
for (const { name, value, gives } of written) {
  Deno.test(`routesOf() reads a domain fact that is ${name}`, () => {
    const { routes, warnings } = routesOf(
      catalogue([{ id: "c-a", facts: { jumphost: "jump1", jumphostDomains: value } }]),
    );
    assert.deepEqual(routes.map(({ pattern }) => pattern), gives);
    assert.deepEqual(warnings, []);
  });
}

const hostile: { readonly name: string; readonly value: unknown; readonly says: RegExp }[] = [
  { name: "a top-level domain", value: "com", says: /"com" is ignored: it has only one label/ },
  {
    name: "a registry's domain",
    value: "co.uk",
    says: /"co.uk" is ignored: it is a public suffix/,
  },
  { name: "this machine", value: "localhost.", says: /only one label/ },
  { name: "a name below this machine", value: "x.y.localhost", says: /it is a name of this machine/ },
  { name: "this machine's domain", value: "a.LocalDomain", says: /it is a name of this machine/ },
  { name: "a star", value: "*", says: /"\*" is ignored/ },
  { name: "a star with a dot", value: "*.", says: /is ignored: / },
  { name: "a star below a top-level domain", value: "*.com", says: /only one label/ },
  { name: "a star inside", value: "a.*.example.com", says: /a \* that is not at the beginning/ },
  { name: "an IPv4 address", value: "192.0.2.1", says: /it is an IP address/ },
  { name: "an IPv6 address", value: "2001:db8::1", says: /is ignored: / },
  { name: "an IPv6 address in brackets", value: "https://[2001:db8::1]:6443", says: /it is an IP address/ },
  { name: "a network", value: "10.0.0.0/8", says: /it is an IP address/ },
  { name: "a number that resolvers read as an address", value: "10.1", says: /it is an IP address/ },
  {
    name: "10,000 characters",
    value: `${"a.".repeat(5000)}com`,
    says: /"(?:a\.)+…" is ignored: it has 10003 characters/,
  },
  { name: "a label of 64 characters", value: `${"a".repeat(64)}.example.com`, says: /it is not a domain/ },
  { name: "a shell's command", value: "$(id).example.com", says: /it is not a domain/ },
  { name: "backquotes", value: "`id`.example.com", says: /it is not a domain/ },
  { name: "the end of a PAC string", value: '")+alert(1)//', says: /it is not a domain/ },
  { name: "a script element", value: "</script>.example.com", says: /is ignored: / },
  { name: "an option", value: "-oProxyCommand=x.example.com", says: /it is not a domain/ },
  {
    name: "control characters",
    value: "a\u001b[2J.example.com",
    says: /"a\?\[2J\.example\.com" is ignored/,
  },
  { name: "empty labels", value: "a..example.com", says: /it is not a domain/ },
  { name: "a number", value: 1.2, says: /ignored because it must be a string, not 1.2/ },
  { name: "a flag", value: true, says: /must be a string, not true/ },
  { name: "an object", value: { a: "a.example.com" }, says: /must be a string, not an object/ },
];
for (const { name, value, says } of hostile) {
  Deno.test(`routesOf() warns about a domain fact that is ${name}, and keeps the others`, () => {
    const facts = { jumphost: "jump1", jumphostDomains: value };
    const dynamicFacts = { openshiftBaseDomain: "c-a.example.net" };
    const { routes, warnings } = routesOf(catalogue([{ id: "c-a", facts, dynamicFacts }]));
    assert.deepEqual(routes.map(({ pattern }) => pattern), ["c-a.example.net"]);
    assert.equal(warnings.length, 1, JSON.stringify(warnings));
    const line = warnings.map(describeWarning).join();
    assert.match(line, /^cluster c-a: fact jumphostDomains: /);
    assert.match(line, says);
    assert.ok(line.length < 250, line);
  });
}

for (
  const value of ["-oProxyCommand=id", "a b", "$(id)", "a,b", "jump1;id", 5, true, ["jump1"], "x".repeat(300)]
) {
  Deno.test(`routesOf() warns of the jumphost ${JSON.stringify(value).slice(0, 40)} and routes nothing there`, () => {
    const given = { ...reference, facts: { ...reference.facts, jumphost: value } };
    const { routes, warnings } = routesOf(catalogue([given]));
    assert.deepEqual(routes, []);
    assert.match(
      warnings.map(describeWarning).join(),
      /^cluster c-bettersmarter-prod01: fact jumphost: .* is not an ssh Host/,
    );
  });
}

Deno.test("routesOf() never shows the password of a URL", () => {
  const facts = { jumphost: "jump1", jumphostDomains: "https://me:secret@com" };
  const { warnings } = routesOf(catalogue([{ id: "c-a", facts }]));
  assert.equal(warnings.length, 1);
  assert.ok(!JSON.stringify(warnings).includes("secret"));
});

Deno.test("routesOf() lists only the first invalid items", () => {
  const facts = { jumphost: "jump1", jumphostDomains: "com,".repeat(1000) + "a.example.com" };
  const { routes, warnings } = routesOf(catalogue([{ id: "c-a", facts }]));
  assert.deepEqual(routes.map(({ pattern }) => pattern), ["a.example.com"]);
  assert.equal(warnings.length, 4);
  assert.equal(warnings.at(-1)?.message, "997 more are ignored");
});

Deno.test("routesOf() reads the first ten thousand items of a fact", () => {
  const facts = { jumphost: "jump1", jumphostDomains: "a.example.com,".repeat(10_000) + "b.example.com" };
  const { routes, warnings } = routesOf(catalogue([{ id: "c-a", facts }]));
  assert.deepEqual(routes.map(({ pattern }) => pattern), ["a.example.com"]);
  assert.deepEqual(warnings.map(({ message }) => message), [
    "1 of its 10001 items are ignored: the limit is 10000",
  ]);
});

Deno.test("routesOf() keeps a thousand warnings and counts the others", () => {
  const facts = { jumphost: "jump1", jumphostDomains: "com" };
  const clusters = Array.from({ length: 1234 }, (_, at) => ({ id: `c-${at}`, facts }));
  const { warnings } = routesOf(catalogue(clusters));
  const none = { cluster: "none", message: "is there" };
  assert.equal(warnings.length, 1001);
  assert.match(describeWarning(warnings[999] ?? none), /^cluster c-999: fact jumphostDomains: "com"/);
  assert.equal(describeWarning(warnings[1000] ?? none), "cluster (others): 234 more warnings");
});

Deno.test("routesOf() routes both static and reported facts", () => {
  const facts = { jumphost: "jump1", openshiftApiURL: "https://api.old.example.net:6443" };
  const dynamicFacts = { openshiftApiURL: "https://api.new.example.net:6443" };
  const { routes } = routesOf(catalogue([{ id: "c-a", facts, dynamicFacts }]));
  assert.deepEqual(routes.map(({ pattern }) => pattern), ["api.new.example.net", "api.old.example.net"]);
});

Deno.test("routesOf() routes only the requested facts", () => {
  const dynamicFacts = {
    openshiftBaseDomain: "c-a.example.net",
    oidcIssuer: "https://login.example.net/realms/x",
    someURL: "https://some.example.net",
    constructor: "c.example.net",
  };
  const one = { id: "c-a", facts: { jumphost: "jump1" }, dynamicFacts };
  const patterns = (domainFacts?: string[]) =>
    routesOf(catalogue([one]), { ...(domainFacts && { domainFacts }) }).routes.map(({ pattern }) => pattern);
  assert.deepEqual(patterns(), ["c-a.example.net"]);
  assert.deepEqual(patterns(["someURL", "toString", "__proto__"]), ["some.example.net"]);
});

Deno.test("routesOf() uses a static domain if the cluster reports none", () => {
  const one = { id: "c-a", facts: { jumphost: "jump1", talosBaseDomain: "c-a.example.net" } };
  assert.deepEqual(routesOf(catalogue([one])).routes.map(({ pattern, fact }) => [pattern, fact]), [
    ["c-a.example.net", "talosBaseDomain"],
  ]);
});

Deno.test("routesOf() adds the routes of a mapping", () => {
  const mapping = {
    jumphosts: { "x.example.net": "jump2", [base]: "jump3", com: "jump2", "y.example.net": "-oops" },
    direct: ["z.x.example.net"],
  };
  const { routes, warnings } = routesOf({ ...catalogue([reference]), mapping });
  const own = routes.filter(({ cluster }) => cluster === undefined);
  assert.deepEqual(own, [
    { kind: "exclusion", pattern: "z.x.example.net", catalogue: "main" },
    { kind: "route", pattern: "x.example.net", jumphost: "jump2", catalogue: "main" },
  ]);
  assert.equal(warnings.length, 2);
});

function catalogue(items: readonly unknown[]): Catalogue {
  const { clusters } = readClusters(JSON.parse(JSON.stringify(items)));
  return { name: "main", source: "https://api.example.net", fetched: "2026-01-01T00:00:00Z", clusters };
}
