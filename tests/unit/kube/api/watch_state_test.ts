import assert from "node:assert/strict";
import { WatchState, type WatchStep } from "../../../../src/kube/api/watch_state.ts";

/** A state whose sink is a set of names with versions. */
function observed() {
  const held = new Map<string, string>();
  const state = new WatchState({
    put: (_object, { name, resourceVersion }) => held.set(name, resourceVersion),
    remove: ({ name }) => held.delete(name),
  });
  return { state, shown: () => [...held].map(([name, version]) => `${name}@${version}`).sort().join(" ") };
}

const object = (name: string, version: number) => ({
  metadata: { namespace: "n", name, resourceVersion: String(version) },
});
const list = (version: number, items: readonly unknown[], next?: string) => ({
  metadata: { resourceVersion: String(version), ...(next && { continue: next }) },
  items,
});
const added = (name: string, version: number) => ({ type: "ADDED", object: object(name, version) });
const deleted = (name: string, version: number) => ({ type: "DELETED", object: object(name, version) });
const bookmark = (version: number, annotations?: unknown) => ({
  type: "BOOKMARK",
  object: { metadata: { resourceVersion: String(version), annotations } },
});

const cases: readonly {
  name: string;
  events: readonly unknown[];
  steps: readonly WatchStep[];
  shown: string;
  version: string;
}[] = [
  { name: "adds a new object", events: [added("b", 6)], steps: ["changed"], shown: "a@5 b@6", version: "6" },
  {
    name: "ignores a repetition",
    events: [added("b", 6), added("b", 6)],
    steps: ["changed", "same"],
    shown: "a@5 b@6",
    version: "6",
  },
  {
    name: "ignores a late event, comparing versions as numbers",
    events: [added("a", 10), added("a", 9)],
    steps: ["changed", "same"],
    shown: "a@10",
    version: "10",
  },
  {
    name: "removes an object",
    events: [deleted("a", 6), deleted("a", 6)],
    steps: ["changed", "same"],
    shown: "",
    version: "6",
  },
  {
    name: "does not restore an object that was removed later",
    events: [deleted("a", 8), added("a", 7), added("a", 9)],
    steps: ["changed", "same", "changed"],
    shown: "a@9",
    version: "9",
  },
  {
    name: "remembers the latest version of a removed object",
    events: [deleted("a", 9), deleted("a", 7), added("a", 8)],
    steps: ["changed", "same", "same"],
    shown: "",
    version: "9",
  },
  {
    name: "does not remove an object that was created again later",
    events: [added("a", 9), deleted("a", 8)],
    steps: ["changed", "same"],
    shown: "a@9",
    version: "9",
  },
  {
    name: "advances with a bookmark, but never back",
    events: [bookmark(20), bookmark(7)],
    steps: ["same", "same"],
    shown: "a@5",
    version: "20",
  },
  {
    name: "reports an expired version",
    events: [{ type: "ERROR", object: { kind: "Status", code: 410 } }],
    steps: ["gone"],
    shown: "a@5",
    version: "5",
  },
  {
    name: "returns other errors",
    events: [{ type: "ERROR", object: { code: 500, message: "no" } }],
    steps: [{ status: 500, text: '{"code":500,"message":"no"}' }],
    shown: "a@5",
    version: "5",
  },
];
for (const { name, events, steps, shown: expected, version } of cases) {
  Deno.test(`WatchState ${name}`, () => {
    const { state, shown } = observed();
    state.beginList();
    state.page(list(5, [object("a", 5)]));
    assert.deepEqual(events.map((event) => state.event(event)), steps);
    assert.equal(shown(), expected);
    assert.equal(state.resourceVersion, version);
    assert.equal(state.objects, expected === "" ? 0 : expected.split(" ").length);
  });
}

Deno.test("WatchState keeps old objects until a new list is complete, then drops unlisted ones", () => {
  const { state, shown } = observed();
  state.beginList();
  assert.equal(state.page(list(5, [object("a", 1), object("b", 2)])), undefined);
  state.beginList();
  assert.equal(state.page(list(9, [object("c", 8)], "next")), "next");
  assert.equal(shown(), "a@1 b@2 c@8");
  assert.equal(state.resourceVersion, undefined);
  assert.equal(state.page(list(9, [object("b", 2)])), undefined);
  assert.equal(shown(), "b@2 c@8");
  assert.equal(state.resourceVersion, "9");
});

Deno.test("WatchState treats the first events of a WatchList as the list, up to its bookmark", () => {
  const { state, shown } = observed();
  state.beginList();
  state.page(list(50, [object("old", 40), object("a", 41)]));
  state.beginList();
  // After a restored backup, versions are smaller than before.
  assert.equal(state.event(added("a", 3)), "changed");
  assert.equal(state.event(bookmark(4)), "same");
  assert.equal(state.resourceVersion, undefined);
  assert.equal(state.event(bookmark(5, { "k8s.io/initial-events-end": "true" })), "listed");
  assert.equal(shown(), "a@3");
  assert.equal(state.resourceVersion, "5");
});

for (
  const value of [null, 1, {}, { type: "ADDED" }, { type: "ADDED", object: {} }, {
    type: "X",
    object: object("a", 1),
  }]
) {
  Deno.test(`WatchState refuses ${JSON.stringify(value)}`, () => {
    assert.throws(() => observed().state.event(value), /Cannot read the watch/);
  });
}

Deno.test("WatchState refuses a list without a version", () => {
  assert.throws(() => observed().state.page({ items: [] }), /it has no version/);
});
