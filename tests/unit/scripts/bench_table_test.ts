import assert from "node:assert/strict";
import { type Demand, hasCollapsed, judge, median } from "../../../scripts/bench_table.ts";

const medians = [
  { values: [3], expected: 3 },
  { values: [3, 1, 2], expected: 2 },
  { values: [4, 1, 2, 3], expected: 2.5 },
];

for (const { values, expected } of medians) {
  Deno.test(`median() of ${values.join(", ")}`, () => assert.equal(median(values), expected));
}

const samples = [
  { contender: "postern", value: 90 },
  { contender: "postern", value: 110 },
  { contender: "a", value: 50 },
  { contender: "b", value: 80 },
];

const cases: { name: string; demand: Demand; holds: boolean }[] = [
  { name: "at least of the highest peer", demand: { atLeast: 1.2, ofBest: "highest" }, holds: true },
  { name: "too little of the highest peer", demand: { atLeast: 1.3, ofBest: "highest" }, holds: false },
  { name: "at most of the lowest peer", demand: { atMost: 2, ofBest: "lowest" }, holds: true },
  { name: "too much of the lowest peer", demand: { atMost: 1.9, ofBest: "lowest" }, holds: false },
  { name: "at least of a named peer", demand: { atLeast: 2, of: "a" }, holds: true },
  { name: "at most of a named peer", demand: { atMost: 1.25, of: "b" }, holds: true },
  { name: "a named peer that did not run", demand: { atMost: 9, of: "c" }, holds: false },
  { name: "at most an absolute number", demand: { atMost: 100 }, holds: true },
  { name: "more than an absolute number", demand: { atMost: 99 }, holds: false },
];

for (const { name, demand, holds } of cases) {
  Deno.test(`judge(): ${name}`, () => {
    const verdict = judge("x", samples, demand);
    assert.equal(verdict.holds, holds, verdict.text);
    assert.match(verdict.text, holds ? /^ok/ : /^MISSED/);
  });
}

Deno.test("judge() prints the median and the spread of each contender", () => {
  assert.match(judge("x", samples, { atMost: 100 }).text, /postern 100 \(90\.0–110\), a 50\.0/);
});

Deno.test("judge() sets no bound for an informative measurement", () => {
  const { holds, text } = judge("x", samples, "informative");
  assert.ok(holds);
  assert.match(text, /^ +x: postern 100/);
});

const collapses: { name: string; demand: Demand; expected: boolean }[] = [
  {
    name: "a tenth of an absolute demand is noise",
    demand: { atLeast: 10, ofBest: "highest" },
    expected: false,
  },
  { name: "a tenth of a ratio is noise", demand: { atLeast: 20, of: "a" }, expected: false },
  { name: "less than a tenth is a collapse", demand: { atLeast: 40, of: "a" }, expected: true },
  { name: "a latency depends on the machine", demand: { atMost: 0.01 }, expected: false },
  { name: "a peer that did not run is a collapse", demand: { atMost: 9, of: "c" }, expected: true },
  { name: "an informative measurement", demand: "informative", expected: false },
];

for (const { name, demand, expected } of collapses) {
  Deno.test(`hasCollapsed(): ${name}`, () =>
    assert.equal(hasCollapsed(judge("x", samples, demand)), expected));
}
