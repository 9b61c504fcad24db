import assert from "node:assert/strict";
import { benchJson, benchPage, benchPicture } from "../../../scripts/bench_report.ts";
import { judge } from "../../../scripts/bench_table.ts";

const samples = [
  { contender: "postern", value: 90 },
  { contender: "postern", value: 110 },
  { contender: "a<b", value: 50 },
];
const report = {
  version: "1.2.3",
  runtime: "Deno 2.9.6",
  date: "2026-01-02",
  cores: 2,
  isSmoke: false,
  verdicts: [judge("down, MB/s", samples, { atLeast: 1.2, ofBest: "highest" })],
};

Deno.test("benchJson() has the median, the spread and the rounds of each contender", () => {
  const { verdicts, version } = JSON.parse(benchJson(report));
  assert.equal(version, "1.2.3");
  assert.deepEqual(verdicts, [{
    name: "down, MB/s",
    demand: { atLeast: 1.2, ofBest: "highest" },
    contenders: [
      { contender: "postern", median: 100, low: 90, high: 110, rounds: 2 },
      { contender: "a<b", median: 50, low: 50, high: 50, rounds: 1 },
    ],
    holds: true,
    found: 2,
  }]);
});

Deno.test("benchPicture() draws a bar for each median and escapes names", () => {
  const picture = benchPicture(report);
  const bars = [...picture.matchAll(/<rect class="(own|peer)" x="200" y="\d+" width="([\d.]+)"/g)];
  const [own = NaN, peer = NaN] = bars.map(([, , width]) => Number(width));
  assert.equal(bars.length, 2);
  assert.ok(Math.abs(own / peer - 2) < 0.01, `${own} ${peer}`);
  assert.match(picture, />a&lt;b</);
  assert.match(picture, />down, MB\/s: 2\.00 × \(at least 1\.2 ×\)</);
});

Deno.test("benchPage() has a row for each measurement and marks missed demands", () => {
  const page = benchPage(report, "b.svg");
  assert.match(page, /^postern meets 1 of 1 demands\.$/m);
  const row = "| down, MB/s | at least 1.2 × | 2.00 × | 100 (90.0–110) | a<b 50.0 (50.0–50.0) |";
  assert.ok(page.includes(`\n${row}\n`), page);
  const slower = judge("up, MB/s", samples, { atLeast: 3, of: "a<b" });
  const missed = benchPage({ ...report, verdicts: [slower] }, "b.svg");
  assert.match(missed, /^postern meets 0 of 1 demands\.$/m);
  assert.match(missed, /\| \*\*2\.00 ×\*\*, missed \|/);
  assert.match(missed, /!\[.*\]\(b\.svg\)/);
});
