import assert from "node:assert/strict";
import { Router } from "../../../src/routing/mod.ts";
import { rulesOf } from "../../support/rules.ts";

const tables = new Map([
  ["lab", { services: new Set(["web", "web.shop"]), addresses: new Set(["10.96.0.1", "fd00::1"]) }],
  ["prod", { services: new Set(["db.shop"]), addresses: new Set(["10.96.0.2"]) }],
]);

function routerOf(lines: readonly string[], fallback = "direct"): Router {
  return new Router({ rules: rulesOf(lines), fallback, tables });
}

const table: { name: string; rules: string[]; expected: Record<string, string> }[] = [
  {
    name: "suffixes on whole labels",
    rules: ["routes: example.com > a"],
    expected: {
      "example.com:443": "a",
      "x.example.com:443": "a",
      "y.x.example.com:1": "a",
      "EXAMPLE.com.:443": "a",
      "notexample.com:443": "direct",
      "example.com.evil:443": "direct",
      "com:443": "direct",
    },
  },
  {
    name: "only subdomains, and only the name",
    rules: ["routes: .a.test > below", "routes: =b.test > exact", "routes: *.c.test > star"],
    expected: {
      "a.test:1": "direct",
      "x.a.test:1": "below",
      "b.test:1": "exact",
      "x.b.test:1": "direct",
      "c.test:1": "direct",
      "y.x.c.test:1": "star",
    },
  },
  {
    name: "the longest suffix, and an exclusion of the file over both",
    rules: ["routes: a.b > one", "routes: x.a.b > two", "direct: y.x.a.b > direct"],
    expected: { "z.a.b:1": "one", "x.a.b:1": "two", "y.x.a.b:1": "direct", "z.y.x.a.b:1": "direct" },
  },
  {
    name: "an exclusion of the file over a longer route",
    rules: ["routes: deep.example.com > a", "direct: example.com > direct"],
    expected: { "deep.example.com:1": "direct" },
  },
  {
    name: "exact over suffixes, also with a port",
    rules: [
      "routes: example.com:443 > suffix",
      "routes: =example.com > exact",
      "routes: =example.com:80 > port",
    ],
    expected: { "example.com:443": "exact", "example.com:80": "port", "a.example.com:443": "suffix" },
  },
  {
    name: "a port only between equal lengths",
    rules: ["routes: b.test:443 > port", "routes: a.b.test > longer", "routes: .b.test > below"],
    expected: {
      "x.b.test:443": "port",
      "x.b.test:80": "below",
      "a.b.test:443": "longer",
      "b.test:80": "direct",
    },
  },
  {
    name: "a pattern for subdomains over one that includes the name",
    rules: ["routes: b.test > tree", "routes: .b.test > below"],
    expected: { "b.test:1": "tree", "x.b.test:1": "below" },
  },
  {
    name: "networks of both families",
    rules: [
      "routes: 10.0.0.0/8 > eight",
      "routes: 10.20.0.0/16 > sixteen",
      "routes: 10.20.0.5 > host",
      "routes: 10.20.0.0/16:22 > port",
      "routes: 2001:db8::/32 > six",
      "routes: [2001:db8:1::/48]:443 > sixport",
      "routes: fe80::/10 > link",
    ],
    expected: {
      "10.1.1.1:1": "eight",
      "10.20.1.1:1": "sixteen",
      "10.20.1.1:22": "port",
      "10.20.0.5:22": "host",
      "::ffff:10.20.0.5:1": "host",
      "::FFFF:0a14:5:1": "host",
      "2001:db8::1:1": "six",
      "2001:0DB8:1:0::1:443": "sixport",
      "2001:db8:1::1:80": "six",
      "2001:db9::1:443": "direct",
      "fe80::1%eth0:1": "link",
      "10.1:1": "eight",
      "0xa.0x140005:1": "host",
      "0240.1:1": "direct",
      "11.0.0.1:1": "direct",
    },
  },
  {
    name: "names are never looked up in networks, nor addresses in names",
    rules: ["routes: 0.0.0.0/0 > four", "routes: ::/0 > six", "routes: test > name"],
    expected: { "10.0.0.1:1": "four", "::1:1": "six", "a.test:1": "name", "other.example:1": "direct" },
  },
  {
    name: "any, <local> and the tables",
    rules: [
      "routes: any > any",
      "routes: any:25 > mail",
      "routes: <local> > local",
      "routes: <services> > lab",
      "routes: <services> > prod",
      "routes: <clusterips> > lab",
      "routes: 10.0.0.0/8 > ten",
      "routes: shop > suffix",
      "routes: =web > exact",
    ],
    expected: {
      "x.example:1": "any",
      "x.example:25": "mail",
      "10.96.0.1:1": "lab",
      "10.96.0.2:1": "ten",
      "fd00:0::1:1": "lab",
      "other:1": "local",
      "web:1": "exact",
      "WEB.shop.:1": "lab",
      "db.shop:1": "prod",
      "no.shop:1": "suffix",
      "a.web.shop:1": "suffix",
    },
  },
  {
    name: "the order of the tiers",
    rules: [
      "catalogue: one.test > c",
      "catalogue: two.test > c",
      "catalogue: three.test > c",
      "catalogue: four.test > c",
      "exclusions: two.test > direct",
      "exclusions: three.test > direct",
      "exclusions: four.test > direct",
      "routes: three.test > file",
      "routes: four.test > file",
      "direct: four.test > direct",
    ],
    expected: {
      "one.test:1": "c",
      "two.test:1": "direct",
      "three.test:1": "file",
      "four.test:1": "direct",
      "x:1": "rest",
    },
  },
  {
    name: "the reference case of the fleet",
    rules: [
      "exclusions: apps.c-bettersmarter-prod01.vshnmanaged.net > direct [c1]",
      "catalogue: console.apps.c-bettersmarter-prod01.vshnmanaged.net > management4 [c1]",
      "catalogue: apps.c-bettersmarter-prod01.vshnmanaged.net > management4 [c1]",
      "catalogue: api.c-bettersmarter-prod01.vshnmanaged.net > management4 [c1]",
      "catalogue: c-bettersmarter-prod01.vshnmanaged.net > management4 [c1]",
      "catalogue: storage.bettersmarter.ch > management4 [c1]",
    ],
    expected: {
      "console.apps.c-bettersmarter-prod01.vshnmanaged.net:443": "direct",
      "x.apps.c-bettersmarter-prod01.vshnmanaged.net:443": "direct",
      "api.c-bettersmarter-prod01.vshnmanaged.net:6443": "management4",
      "oauth.c-bettersmarter-prod01.vshnmanaged.net:443": "management4",
      "storage.bettersmarter.ch:443": "management4",
      "bettersmarter.ch:443": "rest",
    },
  },
  {
    name: "exclusions of one cluster only (exclusions: own)",
    rules: [
      "catalogue: example.net > one [c1]",
      "catalogue: d.apps.example.net > two [c2]",
      "own: apps.example.net > direct [c1]",
      "own: 10.0.0.0/8 > direct [c1]",
      "catalogue: 10.1.0.0/16 > one [c1]",
      "catalogue: 10.2.0.0/16 > two [c2]",
    ],
    expected: {
      "x.example.net:1": "one",
      "x.apps.example.net:1": "direct",
      "x.d.apps.example.net:1": "two",
      "10.1.0.1:1": "direct",
      "10.2.0.1:1": "two",
      "10.3.0.1:1": "rest",
    },
  },
  {
    name: "international names",
    rules: ["routes: bücher.example > a"],
    expected: {
      "xn--bcher-kva.example:1": "a",
      "BÜCHER.example:1": "a",
      "shop.bücher。example:1": "a",
      "bücher.example。:1": "a",
    },
  },
  {
    name: "names with the same hash",
    rules: ["routes: n1.test > a"],
    expected: { "n1.test:1": "a", "03.test:1": "direct", "x.03.test:1": "direct" },
  },
  {
    name: "odd hosts without an error",
    rules: ["routes: a.test > a"],
    expected: {
      ".a.test:1": "a",
      "..:1": "direct",
      ":1": "direct",
      ".:1": "direct",
      "[::1]:1": "direct",
      "ü/a.test:1": "direct",
    },
  },
];

for (const { name, rules, expected } of table) {
  Deno.test(`Router.route() follows ${name}`, () => {
    const usesRest = Object.values(expected).includes("rest");
    const router = routerOf(rules, usesRest ? "rest" : "direct");
    const actual = Object.fromEntries(
      Object.keys(expected).map((text) => [text, router.route(target(text)).transport]),
    );
    assert.deepEqual(actual, expected);
    for (const text of Object.keys(expected)) {
      const { losers: _, ...route } = router.explain(target(text));
      assert.deepEqual(route, router.route(target(text)));
    }
  });
}

Deno.test("Router.route() gives the reason", () => {
  const router = routerOf(["routes: example.com > a", "direct: x.example.com > direct"], "corp");
  assert.equal(router.route(target("example.com:1")).because, 'rule "example.com" (test:1)');
  assert.equal(router.route(target("x.example.com:1")).because, 'exclusion "x.example.com" (test:2)');
  assert.deepEqual(router.route(target("other:1")), { transport: "corp", because: "default" });
  assert.equal(router.route(target("example.com:1")), router.route(target("example.com:2")));
});

Deno.test("Router.route() uses the first of two equal rules", () => {
  assert.equal(
    routerOf(["routes: a.test > one", "routes: A.test. > two"]).route(target("a.test:1")).transport,
    "one",
  );
});

Deno.test("Router.withTables() returns a new router and does not change the old one", () => {
  const before = routerOf(["routes: <services> > lab"]);
  const after = before.withTables(
    new Map([["lab", { services: new Set(["new"]), addresses: new Set<string>() }]]),
  );
  assert.equal(before.route(target("web:1")).transport, "lab");
  assert.equal(before.route(target("new:1")).transport, "direct");
  assert.equal(after.route(target("web:1")).transport, "direct");
  assert.equal(after.route(target("new:1")).transport, "lab");
});

const toLoopback: { name: string; rules: string[]; expected: Record<string, string> }[] = [
  {
    name: "rules for loopback",
    rules: ["routes: 127.0.0.0/8 > four", "routes: ::1 > six", "routes: 0.0.0.0/0 > wide"],
    expected: {
      "127.1:1": "four",
      "0.0.0.0:1": "four",
      "0:1": "four",
      "00.0.0.0.:1": "four",
      "::ffff:0.0.0.0:1": "four",
      "[::ffff:0:0]:1": "four",
      ":::1": "six",
      "0:0:0:0:0:0:0:0:1": "six",
      "0.0.0.1:1": "wide",
      "::2:1": "direct",
    },
  },
  {
    name: "a rule that names the unspecified address itself",
    rules: ["routes: 127.0.0.0/8 > four", "routes: 0.0.0.0 > itself", "routes: any:7 > any"],
    expected: { "0:1": "itself", "127.0.0.1:1": "four", "0:7": "itself", ":::7": "any" },
  },
  {
    name: "a rule that rejects the loopback of either family",
    rules: ["routes: 127.0.0.0/8 > reject", "routes: ::1 > six", "routes: any:7 > any"],
    expected: { "0:7": "reject", ":::7": "reject", "::1:7": "six", "::7:7": "any" },
  },
  {
    name: "a rule that rejects the other family, and a direct tier",
    rules: ["routes: ::1 > refusing", "direct: 127.0.0.1 > direct"],
    expected: { "0:1": "refusing", ":::1": "refusing", "127.1:1": "direct" },
  },
  {
    name: "the default and any, which name no loopback of the other family",
    rules: ["routes: 127.0.0.0/8 > four", "routes: any > reject"],
    expected: { "0:1": "four", ":::1": "reject" },
  },
  {
    name: "exclusions of a cluster",
    rules: [
      "catalogue: 127.0.0.0/8 > one [c1]",
      "own: 127.0.0.1 > direct [c1]",
      "catalogue: ::1 > two [c2]",
    ],
    expected: { "0:1": "direct", ":::1": "two" },
  },
];

for (const { name, rules, expected } of toLoopback) {
  Deno.test(`Router.route() treats an unspecified address as loopback: ${name}`, () => {
    const router = new Router({ rules: rulesOf(rules), rejecting: new Set(["reject", "refusing"]), tables })
      .withTables(tables);
    for (const [text, transport] of Object.entries(expected)) {
      assert.equal(router.route(target(text)).transport, transport, text);
      assert.equal(router.explain(target(text)).transport, transport, text);
    }
  });
}

const losing: { name: string; rules: string[]; target: string; losers: string[] }[] = [
  {
    name: "lengths and ports",
    rules: [
      "routes: a.b.test > x",
      "routes: b.test > y",
      "routes: a.b.test:22 > z",
      "routes: other.test > w",
      "routes: any > v",
    ],
    target: "q.a.b.test:443",
    losers: ["a.b.test:22: another port: 22", "b.test: shorter suffix", "any: matches anything"],
  },
  {
    name: "tiers",
    rules: [
      "direct: test > direct",
      "routes: a.test > x",
      "exclusions: a.test > direct",
      "catalogue: a.test > y",
    ],
    target: "a.test:1",
    losers: [
      "a.test: an exclusion of the file wins",
      "a.test: an exclusion of the file wins",
      "a.test: an exclusion of the file wins",
    ],
  },
  {
    name: "a route of the file",
    rules: ["routes: test > x", "catalogue: =a.test > y"],
    target: "a.test:1",
    losers: ["=a.test: a route of the file wins"],
  },
  {
    name: "the catalogue's exclusion",
    rules: ["exclusions: test > direct", "catalogue: =a.test > y"],
    target: "a.test:1",
    losers: ["=a.test: an exclusion of the catalogue wins"],
  },
  {
    name: "equal and narrower patterns",
    rules: ["routes: a.test > x", "routes: a.test > y", "routes: .a.test > z", "routes: .a.test:1 > p"],
    target: "b.a.test:1",
    losers: [
      ".a.test: the winner names the port",
      "a.test: the winner names the port",
      "a.test: the winner names the port",
    ],
  },
  {
    name: "the same pattern twice",
    rules: ["routes: a.test > x", "routes: a.test > y"],
    target: "a.test:1",
    losers: ["a.test: an earlier rule has the same pattern"],
  },
  {
    name: "exact names and the name itself",
    rules: ["routes: =a.b.test > x", "routes: a.b.test > y"],
    target: "a.b.test:1",
    losers: ["a.b.test: an exact name wins"],
  },
  {
    name: "prefixes",
    rules: ["routes: 10.0.0.0/8 > x", "routes: 10.1.0.0/16 > y"],
    target: "10.1.0.1:1",
    losers: ["10.0.0.0/8: shorter prefix"],
  },
  {
    name: "an unspecified address",
    rules: ["routes: 127.0.0.0/8 > x", "routes: 0.0.0.0/0 > y", "routes: ::1 > z"],
    target: "0:1",
    losers: ["0.0.0.0/0: shorter prefix"],
  },
  {
    name: "a loopback that the other family's rejection beats",
    rules: ["routes: 127.0.0.0/8 > reject", "routes: ::1 > z"],
    target: ":::1",
    losers: ["::1: loopback of the other family is rejected"],
  },
  {
    name: "tables",
    rules: ["routes: shop > x", "routes: <services> > lab"],
    target: "web.shop:1",
    losers: ["shop: the cluster's table has the exact name"],
  },
  {
    name: "exclusions of other clusters",
    rules: ["own: a.test > direct [c1]", "catalogue: a.test > y [c2]"],
    target: "a.test:1",
    losers: ["a.test: an exclusion of another cluster"],
  },
  {
    name: "exclusions of clusters under a route of the file",
    rules: ["own: a.test > direct [c1]", "routes: a.test > y"],
    target: "a.test:1",
    losers: ["a.test: a route of the file wins"],
  },
  {
    name: "exclusions without a route",
    rules: ["own: a.test > direct [c1]"],
    target: "a.test:1",
    losers: ["a.test: the exclusion affects only routes of the same cluster"],
  },
];

for (const { name, rules, target: text, losers } of losing) {
  Deno.test(`Router.explain() lists losing rules: ${name}`, () => {
    const explanation = routerOf(rules).explain(target(text));
    assert.deepEqual(explanation.losers.map(({ rule, why }) => `${rule.text}: ${why}`), losers);
  });
}

function target(text: string): { host: string; port: number } {
  const colon = text.lastIndexOf(":");
  return { host: text.slice(0, colon), port: Number(text.slice(colon + 1)) };
}
