import assert from "node:assert/strict";
import {
  exactly,
  readNames,
  readOutcomes,
  settle,
  skippedName,
  summarize,
} from "../../../scripts/test_outcome.ts";

const report = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="deno test" tests="6" failures="1" errors="0" time="0.011">
    <testsuite name="./j_test.ts" tests="6" disabled="2" errors="0" failures="1">
        <testcase name="reads &lt;a&gt; &quot;b&quot; &amp;lt; it&apos;s" classname="./j_test.ts" time="0.001" line="2" col="6">
        </testcase>
        <testcase name="fails" classname="./j_test.ts" time="0.001" line="2" col="70">
            <failure message="Uncaught Error: x&lt;y">Error: x&lt;y
    at j_test.ts:2:100</failure>
        </testcase>
        <testcase name="needs a peer" classname="./j_test.ts" time="0.000" line="2" col="126">
            <skipped/>
        </testcase>
        <testcase name="has steps" classname="./j_test.ts" time="0.000" line="3" col="6">
        </testcase>
        <testcase name="has steps &gt; in &gt; it" classname="./j_test.ts" time="0.000" line="3" col="43">
        </testcase>
    </testsuite>
    <testsuite name="./k_test.ts" tests="1" disabled="0" errors="0" failures="0">
        <testcase name="has steps &gt; elsewhere" classname="./k_test.ts" time="0.000" line="3" col="43">
        </testcase>
    </testsuite>
</testsuites>`;

Deno.test("readOutcomes() reads names and states and ignores steps", () => {
  assert.deepEqual(readOutcomes(report), [
    { name: `reads <a> "b" &lt; it's`, file: "./j_test.ts", state: "passed" },
    { name: "fails", file: "./j_test.ts", state: "failed" },
    { name: "needs a peer", file: "./j_test.ts", state: "skipped" },
    { name: "has steps", file: "./j_test.ts", state: "passed" },
  ]);
});

Deno.test("readOutcomes() takes the reason of a skip from the name", () => {
  const name = skippedName("curl: fetches [x]", "needs curl: it is not there");
  const one = `<testcase name="${name}" classname="./f.ts" time="0"><skipped/></testcase>`;
  assert.deepEqual(readOutcomes(one), [
    { name: "curl: fetches [x]", file: "./f.ts", state: "skipped", reason: "needs curl: it is not there" },
  ]);
});

Deno.test("readNames() ignores comments and blank lines", () => {
  assert.deepEqual(readNames("# why\n\n  a test: with a colon\n"), ["a test: with a colon"]);
});

const skipped = { name: "t", file: "f", state: "skipped" } as const;
const relaxed = { mustRunAll: false, cannotPass: [] };
const cases = [
  {
    name: "a skip with a reason is not a failure",
    reason: "needs curl: x",
    expected: relaxed,
    counts: [0, 0, 1],
  },
  { name: "a skip without a reason is a failure", reason: undefined, expected: relaxed, counts: [0, 1, 0] },
  {
    name: "a skip is a failure where everything must run",
    reason: "needs curl: x",
    expected: { ...relaxed, mustRunAll: true },
    counts: [0, 1, 0],
  },
  {
    name: "a test for another platform is never a failure",
    reason: "only on windows",
    expected: { ...relaxed, mustRunAll: true },
    counts: [0, 0, 1],
  },
];

for (const { name, reason, expected, counts } of cases) {
  Deno.test(`summarize(): ${name}`, () => {
    const found = summarize([{ ...skipped, ...(reason !== undefined && { reason }) }], expected);
    assert.deepEqual([found.passed, found.failures.length, found.skipped.length], counts);
  });
}

const onTheList = { mustRunAll: true, cannotPass: ["t"] };

Deno.test("summarize(): a test on the list may fail", () => {
  const found = summarize([{ ...skipped, state: "failed" }], onTheList);
  assert.deepEqual([found.passed, found.failures, found.skipped], [0, [], ["t: needs a newer runtime"]]);
});

Deno.test("summarize(): a test on the list that passes makes the list wrong", () => {
  const found = summarize([{ ...skipped, state: "passed" }], onTheList);
  assert.deepEqual(found.failures, ["f: t: passes with this runtime: remove it from the list"]);
});

Deno.test("summarize() ignores exactly the tests that the filter excludes", () => {
  const outcomes = [
    { name: "a one", file: "f", state: "passed" },
    { name: "a two", file: "f", state: "skipped", reason: "needs curl: x" },
    { name: "a three", file: "f", state: "skipped" },
    { name: "b one", file: "f", state: "skipped" },
    { name: "b two", file: "f", state: "skipped", reason: "needs curl: x" },
  ] as const;
  for (const filter of ["a ", "/^a/"]) {
    assert.deepEqual(summarize(outcomes, { ...relaxed, filter }), {
      passed: 1,
      failures: ["f: a three: skipped without a reason"],
      skipped: ["a two: needs curl: x"],
    });
  }
});

Deno.test("exactly() selects exactly the named tests, with any characters", () => {
  const names = ["a (b) [c]/d: 1.5 x?", "e|f", "g\\h"];
  const expression = new RegExp(exactly(names).slice(1, -1));
  for (const name of names) assert.ok(expression.test(name), name);
  for (const other of ["a (b) [c]/d: 1x5 x?", "e", "f", "e|f more", "g"]) {
    assert.ok(!expression.test(other), other);
  }
});

Deno.test("settle() accepts a failed test only if the same test then passed", () => {
  const test = (name: string, state: "passed" | "failed" | "skipped", file = "f") => ({ name, file, state });
  const first = [
    test("good", "passed"),
    test("shaky", "failed"),
    test("bad", "failed"),
    test("gone", "failed"),
    test("elsewhere", "failed"),
    test("left out", "failed"),
  ];
  const second = [
    test("good", "skipped"),
    test("shaky", "passed"),
    test("bad", "failed"),
    test("elsewhere", "passed", "another"),
    test("left out", "skipped"),
  ];
  const { outcomes, recovered } = settle(first, second);
  assert.deepEqual(recovered, ["shaky"]);
  assert.deepEqual(outcomes.map(({ state }) => state), [
    "passed",
    "passed",
    "failed",
    "failed",
    "failed",
    "failed",
  ]);
});
