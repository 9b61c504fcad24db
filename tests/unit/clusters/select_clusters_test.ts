import assert from "node:assert/strict";
import {
  addressesOf,
  type Cluster,
  findCluster,
  knownClusters,
  selectClusters,
} from "../../../src/clusters/mod.ts";
import type { ClusterChoice } from "../../../src/clusters/select_clusters.ts";
import { isPosternError } from "../../../src/words/mod.ts";

const clusters = knownClusters([
  {
    name: "main",
    source: "",
    fetched: "2026-01-01T00:00:00.000Z",
    clusters: [
      cluster("c-lab-1", "Lab One", { cloud: "exoscale", nodes: 3 }, "https://api.c-lab-1.example.net:6443"),
      cluster("c-lab-10", "Lab Ten", { cloud: "cloudscale" }, "https://api.c-lab-10.example.net:6443"),
      cluster("c-prod-1", "Shop", { cloud: "exoscale", tags: ["a"] }),
      cluster("c-twice", "Here"),
    ],
  },
  { name: "other", source: "", fetched: "2026-01-01T00:00:00.000Z", clusters: [cluster("c-twice", "There")] },
]);

const all = clusters.map(({ name }) => name);

const choices: readonly (readonly [ClusterChoice, readonly string[]])[] = [
  [{}, all],
  [{ patterns: ["lab"] }, ["c-lab-1", "c-lab-10"]],
  [{ patterns: ["c-lab-?"] }, ["c-lab-1"]],
  [{ patterns: ["C-LAB-*"] }, ["c-lab-1", "c-lab-10"]],
  [{ patterns: ["shop", "ten"] }, ["c-lab-10", "c-prod-1"]],
  [{ patterns: ["*.example.net"] }, ["c-lab-1", "c-lab-10"]],
  [{ patterns: ["nothing"] }, []],
  [{ exclude: ["lab", "other/*"] }, ["c-prod-1", "main/c-twice"]],
  [{ selectors: ["cloud=exoscale"] }, ["c-lab-1", "c-prod-1"]],
  [{ selectors: ["cloud=exoscale", "nodes=3"] }, ["c-lab-1"]],
  [{ selectors: ["tags"] }, ["c-prod-1"]],
  [{ selectors: ["tenant=t-a", "!cloud"], patterns: ["there"] }, ["other/c-twice"]],
];
for (const [choice, names] of choices) {
  Deno.test(`selectClusters() with ${JSON.stringify(choice)} gives ${names.length}`, () => {
    assert.deepEqual(selectClusters(clusters, choice).map(({ name }) => name), names);
  });
}

const names: readonly (readonly [string, string])[] = [
  ["c-lab-1", "c-lab-1"],
  ["C-Lab-1", "c-lab-1"],
  ["lab-10", "c-lab-10"],
  ["shop", "c-prod-1"],
  ["lab one", "c-lab-1"],
  ["https://api.c-lab-1.example.net:6443", "c-lab-1"],
  ["https://API.c-lab-1.example.net:6443/", "c-lab-1"],
  ["api.c-lab-10", "c-lab-10"],
  ["prod", "c-prod-1"],
  ["other/c-twice", "other/c-twice"],
];
for (const [written, name] of names) {
  Deno.test(`findCluster() resolves "${written}" to ${name}`, () => {
    assert.equal(findCluster(clusters, written).name, name);
  });
}

const failures: readonly (readonly [string, RegExp])[] = [
  ["lab", /"lab" matches c-lab-1, c-lab-10$/],
  ["c-twice", /"c-twice" matches main\/c-twice, other\/c-twice$/],
  ["staging", /no cluster has this name$/],
  [" ", /the name is empty$/],
];
for (const [written, message] of failures) {
  Deno.test(`findCluster() refuses "${written}"`, () => {
    assert.throws(
      () => findCluster(clusters, written),
      (error) => isPosternError(error, "usage") && message.test(error.message),
    );
  });
}

Deno.test("findCluster() suggests a similar name", () => {
  assert.throws(() => findCluster(clusters, "c-lab-2"), { hint: "did you mean c-lab-1?" });
});

const addresses = [
  { api: "https://api.a.example:6443", is: "https://api.a.example:6443/" },
  { api: " https://api.a.example ", is: "https://api.a.example/" },
  { api: "http://127.0.0.1:8080", is: "http://127.0.0.1:8080/" },
  { api: "http://api.a.example", is: undefined },
  { api: "https://me:secret@api.a.example", is: undefined },
  { api: "api.a.example", is: undefined },
  { api: "", is: undefined },
  { api: 6443, is: undefined },
  { api: { url: "https://api.a.example" }, is: undefined },
];
for (const { api, is } of addresses) {
  Deno.test(`addressesOf() reads ${JSON.stringify(api)} as ${is}`, () => {
    assert.equal(addressesOf(cluster("c-a", "A", { openshiftApiURL: api })).api?.href, is);
  });
}

Deno.test("addressesOf() knows the API of a Talos cluster and prefers static facts", () => {
  const written = cluster(
    "c-a",
    "A",
    { talosApiURL: "https://new.example:6443" },
    "https://old.example:6443",
  );
  assert.equal(
    addressesOf({ ...written, dynamicFacts: { talosApiURL: "https://old.example" } }).api?.host,
    "new.example:6443",
  );
});

function cluster(id: string, displayName: string, facts?: Cluster["facts"], api?: string): Cluster {
  return {
    id,
    displayName,
    tenant: "t-a",
    facts: facts ?? {},
    dynamicFacts: api === undefined ? {} : { openshiftApiURL: api },
  };
}
