import assert from "node:assert/strict";
import { catalogueChanges, type CatalogueRoute } from "../../../src/catalogue/mod.ts";

function route(pattern: string, jumphost: string, kind: CatalogueRoute["kind"] = "route"): CatalogueRoute {
  return { kind, pattern, jumphost, catalogue: "main", cluster: "c-x", fact: "jumphostDomains" };
}

function time(ids: readonly string[], routes: readonly CatalogueRoute[]) {
  return { clusters: ids.map((id) => ({ id, displayName: id, facts: {}, dynamicFacts: {} })), routes };
}

Deno.test("catalogueChanges() finds added, removed and moved routes", () => {
  const before = time(["c-a", "c-b"], [
    route("a.example", "j1"),
    route("b.example", "j1"),
    route("c.example", "j1"),
  ]);
  const after = time(["c-b", "c-c"], [
    route("b.example", "j2"),
    route("c.example", "j1"),
    route("d.example", "j1"),
  ]);
  assert.deepEqual(catalogueChanges(before, after), {
    clusters: { added: ["c-c"], removed: ["c-a"] },
    routes: {
      added: [route("d.example", "j1")],
      removed: [route("a.example", "j1")],
      moved: [{ ...route("b.example", "j2"), was: "j1" }],
    },
  });
});

Deno.test("catalogueChanges() reports everything as new for a new catalogue", () => {
  const { clusters, routes } = catalogueChanges(undefined, time(["c-a"], [route("a.example", "j1")]));
  assert.deepEqual([clusters.added, routes.added.length], [["c-a"], 1]);
});

Deno.test("catalogueChanges() counts the first of equal routes, as the router does", () => {
  const before = time([], [route("a.example", "j1"), route("a.example", "j2")]);
  const after = time([], [route("a.example", "j1")]);
  const { routes } = catalogueChanges(before, after);
  assert.deepEqual(routes, { added: [], removed: [], moved: [] });
});

Deno.test("catalogueChanges() distinguishes an exclusion from a route and ignores its jump host", () => {
  const before = time([], [route("a.example", "j1", "exclusion")]);
  assert.deepEqual(
    catalogueChanges(before, time([], [route("a.example", "j2", "exclusion")])).routes.moved,
    [],
  );
  assert.equal(catalogueChanges(before, time([], [route("a.example", "j1")])).routes.added.length, 1);
});
