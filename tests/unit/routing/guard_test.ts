import assert from "node:assert/strict";
import type { FarDomain } from "../../../src/core/mod.ts";
import { parseIp } from "../../../src/words/mod.ts";
import { pacFile, type Route, Router } from "../../../src/routing/mod.ts";
import { rulesOf } from "../../support/rules.ts";

const clusterRules = ["routes: <services> > lab", "routes: <clusterips> > lab"];

function domain(parts: Partial<FarDomain> = {}): FarDomain {
  return {
    networks: [network("10.96.0.0", 16, "Services"), network("10.244.0.0", 24, "pods")],
    addresses: new Set(["203.0.113.9"]),
    knowsServiceNetwork: true,
    namespaces: new Set(["shop-eu", "internal"]),
    services: new Set(["web", "web.dev"]),
    ...parts,
  };
}

function network(address: string, bits: number, holds: "Services" | "pods") {
  return { bytes: parseIp(address) ?? new Uint8Array(), bits, holds };
}

function routerOf(
  known: FarDomain | undefined,
  { rules = clusterRules, fallback = "direct", services = [], addresses = [] }: {
    readonly rules?: readonly string[];
    readonly fallback?: string;
    readonly services?: readonly string[];
    readonly addresses?: readonly string[];
  } = {},
): Router {
  return new Router({
    rules: rulesOf(rules),
    fallback,
    tables: new Map([["lab", { services: new Set(services), addresses: new Set(addresses) }]]),
    domains: new Map([["lab", known]]),
  });
}

/** `lab`, `direct`, or the reason of the guard: `lab owns it`, `lab may own it`. */
function wayOf({ transport, held }: Route): string {
  if (!held) return transport;
  const [owner] = held.owners;
  return `${owner?.transport} ${owner?.isSure ? "owns it" : "may own it"}`;
}

const firstContact: Record<string, string> = {
  "web": "lab may own it",
  "web.shop": "lab may own it",
  "WEB.Shop.": "lab may own it",
  "web.default.": "lab may own it",
  "wiki.ci": "lab may own it",
  "10.96.0.7": "lab may own it",
  "172.31.0.1": "lab may own it",
  "192.168.7.7": "lab may own it",
  "100.127.0.1": "lab may own it",
  "34.118.230.1": "lab may own it",
  "240.1.2.3": "lab may own it",
  "198.19.0.1": "lab may own it",
  "fd12::7": "lab may own it",
  "::ffff:10.0.0.1": "lab may own it",
  "localhost": "direct",
  "db.localhost": "direct",
  "printer.local": "direct",
  "nas.lan": "direct",
  "fritz.box": "direct",
  "x.internal": "direct",
  "example.com": "direct",
  "example.org": "direct",
  "example.ch": "direct",
  "www.example.com": "direct",
  "web.shop.svc": "direct",
  "_http.shop": "direct",
  "127.0.0.1": "direct",
  "::1": "direct",
  "172.32.0.1": "direct",
  "100.128.0.1": "direct",
  "93.184.216.34": "direct",
  "2001:db8::1": "direct",
  "fe80::1": "direct",
};

for (const [host, way] of Object.entries(firstContact)) {
  Deno.test(`Router.route() at first contact: ${host}: ${way}`, () => {
    assert.equal(wayOf(routerOf(undefined).route({ host, port: 80 })), way);
  });
}

const learned: Record<string, string> = {
  "web.shop-eu": "lab owns it",
  "gone.shop-eu": "lab owns it",
  "web-0.web.shop-eu": "lab owns it",
  "any.internal": "lab owns it",
  "web": "lab owns it",
  "wbe": "direct",
  "web.dev": "lab owns it",
  "pod.web.dev": "lab owns it",
  "google.dev": "direct",
  "a.google.dev": "direct",
  "github.io": "direct",
  "10.96.255.1": "lab owns it",
  "10.97.0.1": "direct",
  "10.244.0.77": "lab owns it",
  "10.244.1.77": "direct",
  "203.0.113.9": "lab owns it",
  "192.168.1.1": "direct",
};

for (const [host, way] of Object.entries(learned)) {
  Deno.test(`Router.route() with a known cluster: ${host}: ${way}`, () => {
    assert.equal(wayOf(routerOf(domain()).route({ host, port: 80 })), way);
  });
}

Deno.test("Router.route() explains why a cluster owns a target, and gives the route without the guard", () => {
  const { because, transport, held } = routerOf(domain()).route({ host: "10.96.1.1", port: 80 });
  assert.deepEqual([transport, because], [
    "reject",
    "belongs to lab: the cluster's Services are in 10.96.0.0/16",
  ]);
  assert.deepEqual(held?.otherwise, { transport: "direct", because: "default" });
});

Deno.test("Router.route() holds back private addresses while the Service network is unknown", () => {
  const router = routerOf(domain({ networks: [], knowsServiceNetwork: false }));
  assert.equal(wayOf(router.route({ host: "10.1.2.3", port: 80 })), "lab may own it");
  assert.equal(wayOf(router.route({ host: "github.io", port: 80 })), "direct");
});

const precedence: readonly { name: string; rules: readonly string[]; host: string; way: string }[] = [
  { name: "a table", rules: clusterRules, host: "known.shop-eu", way: "lab" },
  {
    name: "a route for the name",
    rules: ["routes: .shop-eu > corp", ...clusterRules],
    host: "web.shop-eu",
    way: "corp",
  },
  {
    name: "an exclusion of the name",
    rules: ["direct: web.shop-eu > direct", ...clusterRules],
    host: "web.shop-eu",
    way: "direct",
  },
  { name: "<local>", rules: ["routes: <local> > corp", ...clusterRules], host: "web", way: "corp" },
  {
    name: "a rule of a catalogue",
    rules: [...clusterRules, "catalogue: shop-eu > two [c2]"],
    host: "web.shop-eu",
    way: "two",
  },
  {
    name: "an address with its own rule",
    rules: ["direct: 10.96.0.9 > direct", ...clusterRules],
    host: "10.96.0.9",
    way: "direct",
  },
  {
    name: "the cluster's own network as a rule",
    rules: ["direct: 10.96.0.0/16 > direct", ...clusterRules],
    host: "10.96.0.9",
    way: "direct",
  },
  {
    name: "a smaller network",
    rules: ["routes: 10.96.9.0/24 > corp", ...clusterRules],
    host: "10.96.9.9",
    way: "corp",
  },
];

for (const { name, rules, host, way } of precedence) {
  Deno.test(`Router.route() prefers ${name} to the guard`, () => {
    const router = routerOf(domain(), { rules, services: ["known.shop-eu"] });
    assert.equal(wayOf(router.route({ host, port: 80 })), way);
  });
}

Deno.test("Router.route() prefers the guard to any, to a default and to a larger network", () => {
  const held = (rules: readonly string[], host: string) =>
    wayOf(
      routerOf(domain(), { rules: [...rules, ...clusterRules], fallback: "corp" }).route({ host, port: 80 }),
    );
  assert.equal(held(["routes: any > corp"], "web.shop-eu"), "lab owns it");
  assert.equal(held(["direct: any > direct"], "web.shop-eu"), "lab owns it");
  assert.equal(held([], "web.shop-eu"), "lab owns it");
  assert.equal(held(["routes: 10.0.0.0/8 > corp"], "10.96.0.9"), "lab owns it");
  assert.equal(held(["direct: 10.0.0.0/8 > direct"], "10.96.0.9"), "lab owns it");
  assert.equal(held(["routes: 10.0.0.0/8 > corp"], "10.1.0.9"), "corp");
});

Deno.test("Router.route() sends a known address to its cluster despite a rule for a larger network", () => {
  const rules = ["direct: 10.0.0.0/8 > direct", ...clusterRules];
  const router = routerOf(domain(), { rules, addresses: ["10.96.0.7"] });
  const { transport, rule } = router.route({ host: "10.96.0.7", port: 80 });
  assert.deepEqual([transport, rule?.text], ["lab", "<clusterips>"]);
  // Nothing is learned yet, so the written rule decides.
  assert.equal(wayOf(routerOf(undefined, { rules }).route({ host: "10.96.0.7", port: 80 })), "direct");
});

Deno.test("Router.route() guards only the ports and kinds that rules send to the cluster", () => {
  const router = routerOf(undefined, { rules: ["routes: <services>:5432 > lab"] });
  assert.equal(wayOf(router.route({ host: "db.shop", port: 5432 })), "lab may own it");
  assert.equal(wayOf(router.route({ host: "db.shop", port: 80 })), "direct");
  assert.equal(wayOf(router.route({ host: "10.96.0.7", port: 5432 })), "direct");
});

Deno.test("Router.route() guards only transports with a table, other than the target's own", () => {
  assert.equal(wayOf(routerOf(undefined, { fallback: "lab" }).route({ host: "web.shop", port: 80 })), "lab");
  const unguarded = new Router({ rules: rulesOf(clusterRules), fallback: "direct", domains: new Map() });
  assert.equal(wayOf(unguarded.route({ host: "web.shop", port: 80 })), "direct");
});

Deno.test("Router.route() follows the table of one cluster while another cluster is unknown", () => {
  const router = new Router({
    rules: rulesOf([...clusterRules, "routes: <services> > prod", "routes: <clusterips> > prod"]),
    fallback: "direct",
    tables: new Map([["prod", { services: new Set(["web.shop"]), addresses: new Set(["10.97.0.1"]) }]]),
    domains: new Map([["lab", undefined], ["prod", domain()]]),
  });
  assert.equal(wayOf(router.route({ host: "web.shop", port: 80 })), "prod");
  assert.equal(wayOf(router.route({ host: "10.97.0.1", port: 80 })), "prod");
  const both = router.route({ host: "gone.shop-eu", port: 80 });
  assert.deepEqual(both.held?.owners.map(({ transport, isSure }) => [transport, isSure]), [["lab", false], [
    "prod",
    true,
  ]]);
  assert.equal(both.because, "belongs to prod: the cluster has the namespace shop-eu");
});

Deno.test("Router.explain() lists the rules that the guard overrides", () => {
  const router = routerOf(domain(), {
    rules: ["direct: 10.0.0.0/8 > direct", "routes: any > corp", ...clusterRules],
  });
  const { losers } = router.explain({ host: "10.96.0.9", port: 80 });
  assert.deepEqual(losers.map(({ rule, why }) => `${rule.text}: ${why}`), [
    "10.0.0.0/8: contains a cluster's network",
    "any: a cluster may own the target",
  ]);
});

function pacVerdict(router: Router, host: string): string {
  const text = pacFile(router, { listener: "127.0.0.1:12000" });
  const find = new Function(`${text}\nreturn FindProxyForURL;`)() as (url: string, host: string) => string;
  return find(`http://${host.includes(":") ? `[${host}]` : host}/`, host);
}

Deno.test("pacFile() sends to postern every target that the guard may hold back, for known and unknown clusters", () => {
  const states = [routerOf(undefined), routerOf(domain()), routerOf(domain(), { services: ["web.shop-eu"] })];
  for (const [host, way] of Object.entries(firstContact)) {
    for (const [at, router] of states.entries()) {
      const verdict = pacVerdict(router, host);
      if (way !== "direct") assert.match(verdict, /^SOCKS5 /, `${host} in state ${at}`);
      else if (at === 0) assert.equal(verdict, "DIRECT", host);
    }
  }
  for (const [host, way] of Object.entries(learned)) {
    if (way === "direct") continue;
    for (const router of states.slice(1)) assert.match(pacVerdict(router, host), /^SOCKS5 /, host);
  }
});

Deno.test("pacFile() sends a large excluded network to postern, because a cluster may own a part", () => {
  const rules = ["direct: 10.0.0.0/8 > direct", "direct: 10.20.30.0/24 > direct", ...clusterRules];
  for (const router of [routerOf(undefined, { rules }), routerOf(domain(), { rules })]) {
    assert.match(pacVerdict(router, "10.96.0.9"), /^SOCKS5 /);
    assert.equal(pacVerdict(router, "10.20.30.4"), "DIRECT");
    assert.equal(pacVerdict(router, "127.0.0.1"), "DIRECT");
  }
});

Deno.test("pacFile() has no guard data without guarded clusters", () => {
  const router = new Router({ rules: rulesOf(clusterRules), fallback: "direct" });
  assert.deepEqual(["web.shop", "10.96.0.7"].map((host) => pacVerdict(router, host)), ["DIRECT", "DIRECT"]);
});
