import assert from "node:assert/strict";
import { testGroups } from "../../../scripts/test_groups.ts";

const tests = new URL("../../", import.meta.url);
const groups = testGroups({
  root: "/p",
  temporary: "/t",
  deno: "deno",
  compiled: undefined,
  peers: [],
  environment: [],
});

/** Returns the directories of tests, with those of `unit/`. */
function directories(): string[] {
  const of = (at: string) =>
    [...Deno.readDirSync(new URL(at, tests))].filter(({ isDirectory }) => isDirectory);
  const above = of("./").map(({ name }) => name).filter((name) => !withoutTests.includes(name));
  return [...above.filter((name) => name !== "unit"), ...of("unit/").map(({ name }) => `unit/${name}`)];
}

const withoutTests = ["earlier", "peers", "support"];

Deno.test("testGroups() have every directory of tests in exactly one group, and no others", () => {
  const named = groups.flatMap(({ directories }) => directories);
  assert.deepEqual(named.toSorted(), directories().map((name) => `tests/${name}`).toSorted());
});
