import assert from "node:assert/strict";
import { type Catalogue, knownClusters } from "../../../src/clusters/mod.ts";

Deno.test("knownClusters() adds the catalogue to an id that two catalogues contain", () => {
  const names = knownClusters([catalogue("main", "c-a", "c-b"), catalogue("other", "c-b", "c-c")]).map((
    { name },
  ) => name);
  assert.deepEqual(names, ["c-a", "main/c-b", "other/c-b", "c-c"]);
});

function catalogue(name: string, ...ids: string[]): Catalogue {
  const clusters = ids.map((id) => ({ id, displayName: id, facts: {}, dynamicFacts: {} }));
  return { name, source: "", fetched: "2026-01-01T00:00:00.000Z", clusters };
}
