import assert from "node:assert/strict";
import { catalogueStore, loadConfig, readConfig } from "../../../src/plan/mod.ts";
import { connectInstance } from "../../../src/instances/mod.ts";
import type { Catalogue, Cluster } from "../../../src/clusters/mod.ts";
import { isPosternError, PosternError } from "../../../src/words/mod.ts";
import { Router } from "../../../src/routing/mod.ts";
import { startInstance } from "../../support/memory_instance.ts";
import { MemoryWorld } from "../../support/memory_world.ts";

const { signal } = new AbortController();
const path = "/config/config.yaml";
const one = "catalogues:\n  - { lieutenant: https://api.syn.example.com }\n";

/** The reference case: an exclusion wins over longer routes. */
const prod: Cluster = {
  id: "c-prod",
  displayName: "Production",
  facts: {
    jumphost: "jump1.example.net",
    jumphostDomains: "vcenter.example.com",
    jumphostSkipDomains: "apps.c-prod.example.net",
  },
  dynamicFacts: {
    openshiftBaseDomain: "c-prod.example.net",
    openshiftConsoleURL: "https://console.apps.c-prod.example.net",
  },
};

function catalogue(name: string, clusters: readonly Cluster[] = [prod]): Catalogue {
  return { name, source: "https://api.syn.example.com/", fetched: "2026-01-01T00:00:00.000Z", clusters };
}

async function worldWith(
  { config, stored = [] }: { config?: string; stored?: readonly Catalogue[] } = {},
): Promise<MemoryWorld> {
  const world = new MemoryWorld({ files: config === undefined ? {} : { [path]: config } });
  if (stored.length === 0) return world;
  const store = await catalogueStore(world);
  for (const one of stored) await store.put(one, { signal });
  return world;
}

async function ways(world: MemoryWorld, hosts: readonly string[]): Promise<string[]> {
  const { rules, settings } = await loadConfig(world, {});
  const router = new Router({ rules, fallback: settings.default });
  return hosts.map((host) => router.route({ host, port: 443 }).transport);
}

const hosts = [
  "api.c-prod.example.net",
  "console.apps.c-prod.example.net",
  "vcenter.example.com",
  "other.example",
];

Deno.test("readConfig() routes a stored catalogue's domains through its jump hosts, with and without a file", async () => {
  for (const config of [undefined, one, "default: direct\n"]) {
    const world = await worldWith({ ...(config !== undefined && { config }), stored: [catalogue("main")] });
    assert.deepEqual(await ways(world, hosts), [
      "jump1.example.net",
      "direct",
      "jump1.example.net",
      "direct",
    ]);
    const { settings, catalogues, warnings } = await loadConfig(world, {});
    assert.deepEqual(settings.transports, {
      "jump1.example.net": { kind: "ssh", settings: "jump1.example.net" },
    });
    assert.deepEqual(catalogues, [{ name: "main", fetchedAt: "2026-01-01T00:00:00.000Z", clusters: 1 }]);
    assert.deepEqual(warnings, []);
  }
});

Deno.test("readConfig() prefers the file to a catalogue, for rules and transport names", async () => {
  const config = one + "transports:\n  jump1.example.net: { proxy: { url: http://p.example:3128 } }\n" +
    "routes: [{ to: console.apps.c-prod.example.net, via: jump1.example.net }]\ndirect: [vcenter.example.com]\n";
  const world = await worldWith({ config, stored: [catalogue("main")] });
  assert.deepEqual(await ways(world, hosts), ["jump1.example.net", "jump1.example.net", "direct", "direct"]);
  const { settings } = await loadConfig(world, {});
  assert.deepEqual(Object.entries(settings.transports).map(([name, { kind }]) => [name, kind]), [
    ["jump1.example.net", "proxy"],
  ]);
});

Deno.test("readConfig() names catalogue and cluster in the source of a rule", async () => {
  const { rules } = await loadConfig(await worldWith({ stored: [catalogue("main")] }), {});
  const router = new Router({ rules });
  assert.equal(
    router.route({ host: "api.c-prod.example.net", port: 443 }).because,
    'rule "c-prod.example.net" (catalogue main: cluster c-prod fact openshiftBaseDomain)',
  );
});

Deno.test("readConfig() never replaces a built-in transport by a jump host", async () => {
  const facts = { jumphost: "direct" };
  const world = await worldWith({ stored: [catalogue("main", [{ ...prod, facts }])] });
  assert.deepEqual(await ways(world, ["api.c-prod.example.net"]), ["ssh:direct"]);
  const { settings } = await loadConfig(world, {});
  assert.deepEqual(settings.transports, { "ssh:direct": { kind: "ssh", settings: "direct" } });
});

Deno.test("readConfig() accepts any name for a jump host, also that of an inherited property", async () => {
  for (const jumphost of ["constructor", "toString", "__proto__"]) {
    const world = await worldWith({ stored: [catalogue("main", [{ ...prod, facts: { jumphost } }])] });
    assert.deepEqual(await ways(world, ["api.c-prod.example.net"]), [jumphost]);
    const { settings: { transports } } = await loadConfig(world, {});
    assert.deepEqual(Object.entries(transports), [[jumphost, { kind: "ssh", settings: jumphost }]]);
  }
});

Deno.test("readConfig() uses only the catalogues that the file names, in its order", async () => {
  const two = "catalogues:\n  - { lieutenant: https://b.example.com, name: b }\n" +
    "  - { lieutenant: https://api.syn.example.com, name: a }\n";
  const stored = ["a", "b", "c"].map((name) => catalogue(name));
  const world = await worldWith({ config: two, stored });
  const { catalogues, rules, warnings } = await loadConfig(world, {});
  assert.deepEqual(catalogues.map(({ name }) => name), ["b", "a"]);
  assert.match(rules[0]?.source ?? "", /^catalogue b: /);
  assert.deepEqual(warnings, [
    "catalogue b: fetched from https://api.syn.example.com/, not from https://b.example.com/; run postern update",
  ]);
  world.files.put(path, "catalogues: []\n");
  assert.deepEqual((await loadConfig(world, {})).rules, []);
});

Deno.test("readConfig() confines the exclusions of each cluster to its own domains if the file says so", async () => {
  const other: Cluster = {
    id: "c-other",
    displayName: "",
    facts: { jumphost: "jump2" },
    dynamicFacts: { openshiftBaseDomain: "x.apps.c-prod.example.net" },
  };
  const config = "catalogues: [{ lieutenant: https://api.syn.example.com, exclusions: own }]\n";
  const world = await worldWith({ config, stored: [catalogue("main", [prod, other])] });
  assert.deepEqual(await ways(world, ["x.apps.c-prod.example.net"]), ["jump2"]);
  world.files.put(path, one);
  assert.deepEqual(await ways(world, ["x.apps.c-prod.example.net"]), ["direct"]);
});

Deno.test("readConfig() lists a few invalid facts, and counts the others", async () => {
  const facts = {
    jumphost: "jump1",
    jumphostDomains: ["com", "*", "a..b"],
    jumphostSkipDomains: ["net", "org"],
  };
  const world = await worldWith({ stored: [catalogue("main", [{ ...prod, facts }])] });
  const { warnings } = await loadConfig(world, {});
  assert.equal(warnings.length, 4);
  assert.match(warnings[0] ?? "", /^catalogue main: cluster c-prod: fact jumphostSkipDomains: /);
  assert.equal(warnings[3], "catalogue main: 2 more facts are invalid; postern update lists them");
});

Deno.test("readConfig() warns of a catalogue that has not been fetched", async () => {
  const world = await worldWith({ config: `${one}default: reject\n` });
  const { warnings, catalogues } = await loadConfig(world, {});
  assert.deepEqual(warnings, ["catalogue main: not fetched yet; run postern update"]);
  assert.deepEqual(catalogues, [{
    name: "main",
    clusters: 0,
    problem: "not fetched yet; run postern update",
  }]);
});

Deno.test("readConfig() skips the catalogues on request, and for a configuration passed as text", async () => {
  const world = await worldWith({ config: one, stored: [catalogue("main")] });
  assert.deepEqual((await loadConfig(world, { withoutCatalogues: true })).rules, []);
  assert.deepEqual((await loadConfig(world, { text: "default: direct\n" })).rules, []);
});

Deno.test("readConfig() checks the section catalogues like any other", async () => {
  const config = "catalogues:\n  - { lieutenant: http://api.example.com, via: nowhere }\n";
  const { errors } = await readConfig(await worldWith({ config }), {});
  assert.equal(errors.length, 2, errors.join("\n"));
  assert.match(errors[0] ?? "", /:2:\d+: catalogues\[0\]\.lieutenant: must begin with https:\/\//);
  assert.match(errors[1] ?? "", /:2:\d+: catalogues\[0\]\.via: names the unknown transport "nowhere"/);
  const { errors: [misspelt] } = await readConfig(await worldWith({ config: "catalogs: []\n" }), {});
  assert.match(misspelt ?? "", /catalogs: is not a known key, did you mean "catalogues"/);
});

Deno.test("runInstance() shows the catalogues in its status, and applies a new one at a reload", async () => {
  const world = await worldWith({
    config: `listen: { mixed: 127.0.0.1:1 }\n${one}`,
    stored: [catalogue("main")],
  });
  const instance = await startInstance(world);
  const client = await connectInstance(world, "default", { signal });
  assert.deepEqual((await client.status({ signal })).catalogues, [
    { name: "main", fetchedAt: "2026-01-01T00:00:00.000Z", clusters: 1 },
  ]);
  const facts = { ...prod.facts, jumphost: "jump2" };
  await (await catalogueStore(world)).put(catalogue("main", [{ ...prod, facts }]), { signal });
  const { changes } = await client.reload({ signal });
  assert.ok(
    changes.includes("c-prod.example.net now goes to jump2 (was jump1.example.net)"),
    changes.join("\n"),
  );
  const { because, hops } = await client.explain({ host: "c-prod.example.net", port: 443 }, { signal });
  assert.match(because, /catalogue main: cluster c-prod/);
  assert.deepEqual(hops.map(({ name, type }) => [name, type]), [["jump2", "ssh"]]);
  world.kill("SIGTERM");
  await instance.ended;
});

Deno.test("runInstance() lists only some of the many rules that a catalogue changes", async () => {
  const domains = Array.from({ length: 100 }, (_, at) => `d${at}.example.org`);
  const facts = { ...prod.facts, jumphostDomains: domains };
  const world = await worldWith({
    config: `listen: { mixed: 127.0.0.1:1 }\n${one}`,
    stored: [catalogue("main")],
  });
  const instance = await startInstance(world);
  await (await catalogueStore(world)).put(catalogue("main", [{ ...prod, facts }]), { signal });
  const { changes } = await (await connectInstance(world, "default", { signal })).reload({ signal });
  assert.equal(changes.length, 21, changes.join("\n"));
  assert.equal(changes[20], "81 more rules of catalogues changed");
  world.kill("SIGTERM");
  await instance.ended;
});

const inventory = "//io.vshn.kharon/inventory.json";

Deno.test("readConfig() uses kharon's catalogue when no catalogue is stored or named", async () => {
  for (const config of [undefined, "default: direct\n", one]) {
    const world = await worldWith(config === undefined ? {} : { config });
    world.files.put(inventory, JSON.stringify({ version: 1, clusters: [prod] }));
    const { catalogues, warnings } = await loadConfig(world, {});
    if (config === one) {
      assert.equal(catalogues[0]?.problem, "not fetched yet; run postern update");
      continue;
    }
    assert.deepEqual(await ways(world, hosts.slice(0, 1)), ["jump1.example.net"]);
    assert.deepEqual([catalogues[0]?.name, catalogues[0]?.clusters], ["kharon", 1]);
    assert.match(
      warnings.join(),
      /^no catalogue is stored, so postern uses ".*"; run postern update to fetch one$/,
    );
  }
});

Deno.test("readConfig() uses kharon's catalogue when the first update was killed", async () => {
  const world = await worldWith();
  world.files.put(inventory, JSON.stringify({ version: 1, clusters: [prod] }));
  (await world.stores.open("/cache/catalogue/catalogue.kv"))[Symbol.dispose]();
  assert.deepEqual(await ways(world, hosts.slice(0, 1)), ["jump1.example.net"]);
});

Deno.test("readConfig() ignores an unreadable catalogue of kharon", async () => {
  const world = await worldWith({ config: "default: direct\n" });
  world.files.put(inventory, "{");
  const { catalogues, warnings } = await loadConfig(world, {});
  assert.deepEqual(catalogues, []);
  assert.match(warnings.join(), /^Cannot read ".*inventory\.json": it is not JSON: /);
});

Deno.test("runInstance() without a fetched catalogue names the command that fetches it", async () => {
  const cases = [
    { config: one, message: "Cannot start the instance: no catalogue is stored, so nothing would be routed" },
    {
      config: undefined,
      message:
        "Cannot start the instance: there is no configuration, no --route and no catalogue, so nothing would be routed",
    },
  ];
  for (const { config, message } of cases) {
    const world = await worldWith(config === undefined ? {} : { config });
    await assert.rejects(startInstance(world), (error) => {
      assert.ok(isPosternError(error, "config"));
      assert.equal(error.message, message);
      assert.match(error.hint ?? "", /postern update/);
      return true;
    });
  }
});

Deno.test("runInstance() reports a damaged catalogue, and keeps the current one when the damage happens later", async () => {
  const world = await worldWith({
    config: `listen: { mixed: 127.0.0.1:1 }\n${one}`,
    stored: [catalogue("main")],
  });
  const instance = await startInstance(world);
  const kv = "/cache/catalogue/catalogue.kv";
  const damage = new PosternError("config", `Cannot use "${kv}": it is damaged`, { detail: "damaged" });
  const { stores: { all }, files } = world;
  all.set(kv, damage);
  await files.remove("/cache/catalogue/snapshot.json");
  const client = await connectInstance(world, "default", { signal });
  await assert.rejects(client.reload({ signal }), /catalogue\.kv": it is damaged/);
  assert.match((await client.status({ signal })).config.problem ?? "", /catalogue\.kv/);
  const { because } = await client.explain({ host: "c-prod.example.net", port: 443 }, { signal });
  assert.match(because, /catalogue main/);
  world.kill("SIGTERM");
  await instance.ended;
  await assert.rejects(startInstance(world), (error) => {
    assert.ok(isPosternError(error, "config"));
    assert.match(error.hint ?? "", /postern update/);
    return true;
  });
});
