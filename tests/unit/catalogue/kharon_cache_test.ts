import assert from "node:assert/strict";
import { readKharonCache, readKharonMapping, routesOf } from "../../../src/catalogue/mod.ts";
import { PosternError } from "../../../src/words/mod.ts";
import { MemoryFiles } from "../../support/memory_files.ts";

const directory = "/home/me/.cache/io.vshn.kharon";
const inventory = {
  version: 1,
  clusters: [{
    id: "c-a",
    displayName: "A",
    tenant: "t-a",
    facts: { jumphost: "jump1", jumphostSkipDomains: "apps.c-a.example.net" },
    dynamicFacts: { openshiftBaseDomain: "c-a.example.net" },
  }, { id: "c-b", facts: { kharonIgnore: "true" } }],
};
const mapping = {
  version: 1,
  mapping: { "c-a.example.net": "jump1", "old.example.net": "jump2" },
  directAccess: ["apps.c-a.example.net", "public.old.example.net"],
};

function read(files: Record<string, unknown>) {
  const texts = Object.entries(files).map(([name, value]) => [
    `${directory}/${name}`,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  return readKharonCache({ files: new MemoryFiles(Object.fromEntries(texts)), directory, name: "main" });
}

const inventoryName = "inventory.json";
const mappingName = "proxy/domain_jumphost_mapping.json";

Deno.test("readKharonCache() is undefined without kharon's files", async () => {
  assert.equal(await read({}), undefined);
});

Deno.test("readKharonCache() returns the clusters and the routes that only the mapping contains", async () => {
  const found = await read({ [inventoryName]: inventory, [mappingName]: mapping });
  assert.ok(found);
  const { catalogue, ignored } = found;
  assert.deepEqual([catalogue.name, catalogue.source], ["main", `${directory}/${inventoryName}`]);
  assert.deepEqual([catalogue.clusters.map(({ id }) => id), ignored], [["c-a"], ["c-b"]]);
  assert.equal(catalogue.fetched, "1970-01-01T00:00:01.000Z");
  assert.deepEqual(
    routesOf(catalogue).routes.map((
      { kind, pattern, jumphost, cluster },
    ) => [kind, pattern, jumphost, cluster]),
    [
      ["exclusion", "public.old.example.net", undefined, undefined],
      ["exclusion", "apps.c-a.example.net", "jump1", "c-a"],
      ["route", "c-a.example.net", "jump1", "c-a"],
      ["route", "old.example.net", "jump2", undefined],
    ],
  );
});

Deno.test("readKharonCache() reads the inventory alone and the mapping alone", async () => {
  assert.equal((await read({ [inventoryName]: inventory }))?.catalogue.mapping, undefined);
  const found = await read({ [mappingName]: mapping });
  assert.deepEqual(found?.catalogue.clusters, []);
  assert.equal(routesOf(found.catalogue).routes.length, 4);
});

Deno.test("readKharonMapping() reads the form without a version", () => {
  assert.deepEqual(readKharonMapping('{"x.example.net":"jump1"}', "m.json"), {
    jumphosts: { "x.example.net": "jump1" },
    direct: [],
  });
});

const wrong: { readonly name: string; readonly files: Record<string, unknown>; readonly says: RegExp }[] = [
  {
    name: "an inventory of another version",
    files: { [inventoryName]: { ...inventory, version: 2 } },
    says: /inventory\.json": it has version 2; postern reads only version 1/,
  },
  {
    name: "an inventory without a version",
    files: { [inventoryName]: { clusters: [] } },
    says: /it has no version/,
  },
  {
    name: "an inventory without clusters",
    files: { [inventoryName]: { version: 1 } },
    says: /it has no list of clusters/,
  },
  {
    name: "half of an inventory",
    files: { [inventoryName]: '{"version": 1, "clust' },
    says: /it is not JSON/,
  },
  { name: "a list", files: { [inventoryName]: [] }, says: /it is not an object/ },
  {
    name: "a mapping of another version",
    files: { [mappingName]: { version: "1", mapping: {} } },
    says: /it has version "1"/,
  },
  { name: "a mapping without one", files: { [mappingName]: { version: 1 } }, says: /it has no mapping/ },
  {
    name: "a number as jump host",
    files: { [mappingName]: { "x.example.net": 5 } },
    says: /the jump host of "x\.example\.net" is not a string/,
  },
];
for (const { name, files, says } of wrong) {
  Deno.test(`readKharonCache() refuses ${name} and names the file`, async () => {
    await assert.rejects(read(files), (error) => {
      assert.ok(error instanceof PosternError);
      assert.equal(error.code, "config");
      assert.match(error.message, says);
      assert.ok(error.message.startsWith(`Cannot read "${directory}/`), error.message);
      return true;
    });
  });
}
