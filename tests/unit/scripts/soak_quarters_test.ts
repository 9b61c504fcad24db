import assert from "node:assert/strict";
import { judgeSoak, quarters, type SoakSample, soakText } from "../../../scripts/soak_quarters.ts";

/** Forty samples of an instance with the given resources, and one of the idle time after them. */
function samples(
  residentMb: (at: number) => number,
  end: Partial<SoakSample> = {},
): SoakSample[] {
  const loaded = Array.from({ length: 40 }, (_, at) => ({
    s: at * 5,
    resident_kB: residentMb(at) * 1000,
    files: 103,
    open: 3,
    done: at * 1000,
    failed: 0,
    skipped: 0,
    sessions: 5,
  }));
  return [
    ...loaded,
    { ...loaded[39], s: 250, resident_kB: 1, open: 0, done: 40_000, files: 60, ...end } as SoakSample,
  ];
}

function judged(all: readonly SoakSample[], connections = 0): string[] {
  return judgeSoak(all, quarters(all), { connections });
}

Deno.test("quarters() takes the median of each quarter and ignores the idle time", () => {
  const told = quarters(samples((at) => 100 + at));
  assert.deepEqual(told.map(({ residentMb }) => residentMb), [105, 115, 125, 135]);
  assert.deepEqual(told.map(({ done }) => done), [9000, 10_000, 10_000, 10_000]);
  assert.match(soakText(told), /^quarter 1: 105 MB, 103 descriptors, 5 sessions, 9000 connections\n/);
});

const cases: readonly { name: string; all: SoakSample[]; connections?: number; missed: readonly RegExp[] }[] =
  [
    { name: "does not grow", all: samples(() => 100), missed: [] },
    {
      name: "grows in the first quarter only",
      all: samples((at) => Math.min(100 + at * 5, 150)),
      missed: [],
    },
    { name: "has grown by 4 %", all: samples((at) => at < 30 ? 100 : 104), missed: [] },
    {
      name: "has grown by 6 %",
      all: samples((at) => at < 30 ? 100 : 106),
      missed: [/^memory grew by 6 % /],
    },
    {
      name: "keeps descriptors",
      all: samples(() => 100, { files: 400 }),
      missed: [/^400 descriptors at the end, 103 in the second quarter$/],
    },
    {
      name: "does not answer",
      all: samples(() => 100, { unanswered: 2 }),
      missed: [/^the instance did not answer 2 queries$/],
    },
    {
      name: "fails",
      all: samples(() => 100, { failed: 41, failures: ["41 of a, the last: b"] }),
      missed: [/^41 of 40000 connections failed: 41 of a, the last: b$/],
    },
    {
      name: "hangs",
      all: samples(() => 100, { open: 2, skipped: 3 }),
      missed: [/^the load generator skipped 3 /, /^2 .* never closed$/],
    },
    {
      name: "keeps its connections",
      all: samples(() => 100),
      connections: 4,
      missed: [/^the instance still has 4/],
    },
    { name: "has too few samples", all: samples(() => 100).slice(0, 8), missed: [/^too few/] },
  ];
for (const { name, all, connections, missed } of cases) {
  Deno.test(`judgeSoak() of an instance that ${name}`, () => {
    const problems = judged(all, connections);
    assert.equal(problems.length, missed.length, problems.join("; "));
    for (const [at, pattern] of missed.entries()) assert.match(problems[at] ?? "", pattern);
  });
}
