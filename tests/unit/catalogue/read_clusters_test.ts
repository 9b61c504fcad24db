import assert from "node:assert/strict";
import { isPosternError } from "../../../src/words/mod.ts";
import { describeWarning } from "../../../src/clusters/mod.ts";
import { readClusters } from "../../../src/catalogue/read_clusters.ts";

Deno.test("readClusters() keeps known fields and drops possible secrets", () => {
  const { clusters, warnings, ignored } = readClusters([{
    id: "c-a",
    tenant: "t-a",
    displayName: "A",
    annotations: { "example.net/note": "SECRET" },
    facts: { cloud: "x", installURL: "https://x/?token=SECRET" },
    dynamicFacts: { kubernetesVersion: { major: "1" }, zone: 1.2, on: true, none: null },
    gitRepo: { url: "ssh://git@git.example.net/SECRET.git" },
    compileMeta: { global: {}, tenant: {} },
    installURL: "https://api.example.net/install/steward.json?token=SECRET",
  }]);
  assert.deepEqual(clusters, [{
    id: "c-a",
    tenant: "t-a",
    displayName: "A",
    facts: { cloud: "x" },
    dynamicFacts: { kubernetesVersion: { major: "1" }, zone: 1.2, on: true, none: null },
  }]);
  assert.deepEqual([warnings, ignored], [[], []]);
});

Deno.test("readClusters() requires only an id", () => {
  assert.deepEqual(
    readClusters([{ id: "c-a" }, { id: "C-b.1", facts: null, tenant: 5, displayName: {} }]).clusters,
    [
      { id: "c-a", displayName: "c-a", facts: {}, dynamicFacts: {} },
      { id: "C-b.1", displayName: "C-b.1", facts: {}, dynamicFacts: {} },
    ],
  );
});

for (const value of [undefined, null, {}, "[]", 5, { clusters: [] }]) {
  Deno.test(`readClusters() refuses ${JSON.stringify(value)}, which is not a list`, () => {
    assert.throws(() => readClusters(value), (error) => isPosternError(error, "protocol"));
  });
}

const odd: { readonly name: string; readonly item: unknown; readonly says: string }[] = [
  { name: "a text", item: "c-x", says: "cluster number 2: ignored because it is not an object" },
  { name: "null", item: null, says: "cluster number 2: ignored because it is not an object" },
  {
    name: "an object without id",
    item: {},
    says: "cluster number 2: ignored because its id must be a name, not nothing",
  },
  {
    name: "an id with a slash",
    item: { id: "../x" },
    says: 'cluster number 2: ignored because its id must be a name, not "../x"',
  },
  {
    name: "an id like an option",
    item: { id: "-x" },
    says: 'cluster number 2: ignored because its id must be a name, not "-x"',
  },
  {
    name: "a duplicate id",
    item: { id: "c-a" },
    says: "cluster c-a: listed twice, so postern uses the first entry",
  },
  {
    name: "an id of 10,000 characters",
    item: { id: "x".repeat(10_000) },
    says: `cluster number 2: ignored because its id must be a name, not "${"x".repeat(60)}…"`,
  },
];
for (const { name, item, says } of odd) {
  Deno.test(`readClusters() leaves out ${name} and keeps the rest`, () => {
    const { clusters, warnings } = readClusters([{ id: "c-a" }, item, { id: "c-b" }]);
    assert.deepEqual(clusters.map(({ id }) => id), ["c-a", "c-b"]);
    assert.deepEqual(warnings.map(describeWarning), [says]);
  });
}

Deno.test("readClusters() leaves out facts that are not an object or are nested too deeply", () => {
  const deep = JSON.parse(`${"[".repeat(5000)}${"]".repeat(5000)}`);
  const { clusters, warnings } = readClusters([
    { id: "c-a", facts: ["x"] },
    { id: "c-b", facts: { deep, x: "y" } },
  ]);
  assert.deepEqual(clusters.map(({ facts }) => facts), [{}, { x: "y" }]);
  assert.deepEqual(warnings.map(describeWarning), [
    "cluster c-a: all facts ignored because the value is not an object",
    "cluster c-b: fact deep: ignored because it is nested too deeply",
  ]);
});

Deno.test("readClusters() ignores a fact's prototype", () => {
  const [cluster] =
    readClusters(JSON.parse('[{"id":"c-a","facts":{"__proto__":{"jumphost":"x"}}}]')).clusters;
  assert.equal(cluster?.facts["jumphost"], undefined);
});

Deno.test("readClusters() removes line breaks and escapes from names", () => {
  const [cluster] = readClusters([{ id: "c-a", displayName: "A\u001b[31m\nB\u202e" }]).clusters;
  assert.equal(cluster?.displayName, "A [31m B");
});

for (
  const [fact, isIgnored] of [
    [true, true],
    ["true", true],
    ["yes", true],
    [1, true],
    [{}, true],
    ["", false],
    ["false", false],
    [false, false],
    [null, false],
  ]
) {
  Deno.test(`readClusters() ${isIgnored ? "ignores" : "keeps"} a cluster whose kharonIgnore is ${JSON.stringify(fact)}`, () => {
    const { clusters, ignored } = readClusters([{ id: "c-a", facts: { kharonIgnore: fact } }]);
    assert.deepEqual([clusters.length, ignored], isIgnored ? [0, ["c-a"]] : [1, []]);
  });
}
