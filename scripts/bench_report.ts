import { boundText, type ContenderResult, isRatio, short, type Verdict } from "./bench_table.ts";

/** The results of a benchmark, with machine and date. */
export interface BenchReport {
  readonly version: string;
  readonly runtime: string;
  /** For example `2026-11-19`. */
  readonly date: string;
  readonly cores: number;
  readonly isSmoke: boolean;
  readonly verdicts: readonly Verdict[];
}

/** Returns the report as JSON. */
export function benchJson(report: BenchReport): string {
  const verdicts = report.verdicts.map(({ text: _text, ...verdict }) => verdict);
  return `${JSON.stringify({ ...report, verdicts }, null, 2)}\n`;
}

/** Returns the report as a part of docs/speed.md; `picture` is the path of its picture. */
export function benchPage(report: BenchReport, picture: string): string {
  const { verdicts, version, runtime, cores, date } = report;
  const missed = verdicts.filter(({ holds }) => !holds);
  const judged = verdicts.filter(({ demand }) => demand !== "informative");
  return [
    `postern ${version} on ${runtime}, ${cores} cores, ${date}. Each number is the median of its rounds, with the`,
    "lowest and the highest; the compared programs ran in turns in the same run. A demand with × compares postern",
    "with the best other program, or with a named one. On another machine compare the ratios. `deno task bench`",
    "repeats all measurements with the bundle of a release, and `--page` writes this part of the page.",
    "",
    `postern meets ${judged.length - missed.length} of ${judged.length} demands.`,
    "",
    "| measurement | demand | result | postern | others |",
    "| -------- | -------- | ------- | ------- | ------ |",
    ...verdicts.map((verdict) =>
      `| ${cells(verdict).map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`
    ),
    "",
    `![${verdicts.length} measurements, one bar for each program](${picture})`,
  ].join("\n");
}

function cells({ name, demand, found = NaN, holds, contenders }: Verdict): string[] {
  const shown = ({ median, low, high }: ContenderResult) => `${short(median)} (${short(low)}–${short(high)})`;
  const own = contenders.filter(({ contender }) => contender === "postern").map(shown).join(", ");
  const others = contenders.filter(({ contender }) => contender !== "postern").map((result) =>
    `${result.contender} ${shown(result)}`
  );
  if (demand === "informative") return [name, "", "", own, others.join(", ")];
  const times = isRatio(demand) ? " ×" : "";
  const came = `${short(found)}${times}`;
  return [name, `${boundText(demand)}${times}`, holds ? came : `**${came}**, missed`, own, others.join(", ")];
}

const width = 920;
const labels = 200;
const bar = 14;
const heading = 26;
const gap = 10;

/**
 * Returns the report as an SVG: for each contender a bar of its median and a line from its lowest to its
 * highest value.
 */
export function benchPicture({ verdicts, date, version, cores, runtime }: BenchReport): string {
  const shapes: string[] = [];
  let y = 44;
  for (const verdict of verdicts) {
    const { name, contenders } = verdict;
    const most = Math.max(...contenders.map(({ high }) => high)) || 1;
    const at = (value: number) => (labels + (width - labels - 130) * value / most).toFixed(1);
    shapes.push(text(10, y + 15, demandText(verdict), "name"));
    y += heading;
    for (const { contender, median, low, high } of contenders) {
      const middle = y + bar / 2;
      const kind = contender === "postern" ? "own" : "peer";
      shapes.push(
        text(labels - 8, y + bar - 3, contender, "contender"),
        `<rect class="${kind}" x="${labels}" y="${y + 1}" width="${
          (Number(at(median)) - labels).toFixed(1)
        }" height="${bar - 3}"/>`,
        `<path class="spread" d="M${at(low)} ${middle}H${at(high)}"/>`,
        text(Number(at(high)) + 6, y + bar - 3, short(median), "value"),
      );
      y += bar;
    }
    y += gap;
    if (contenders.length === 0) throw new Error(`Cannot draw "${name}": it has no results`);
  }
  const about =
    `postern ${version}, ${runtime}, ${cores} cores, ${date}: medians, with the spread of the rounds`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y}" role="img" aria-label="${
      escaped(about)
    }">`,
    `<style>${style}</style>`,
    `<rect class="ground" width="${width}" height="${y}"/>`,
    text(10, 24, about, "title"),
    ...shapes,
    "</svg>",
    "",
  ].join("\n");
}

const style = `
text { font: 12px system-ui, sans-serif; fill: #1c2430 }
.title { font-size: 14px; font-weight: 600 } .name { font-weight: 600 } .contender { text-anchor: end }
.ground { fill: #fff } .own { fill: #2563c9 } .peer { fill: #9aa7b8 } .spread { stroke: #1c2430; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) {
  text { fill: #dbe3ee } .ground { fill: #10151d } .own { fill: #5b9bff } .peer { fill: #5c6878 }
  .spread { stroke: #dbe3ee }
}
`;

/** The name of a measurement with its result. */
function demandText({ name, demand, found = NaN, holds }: Verdict): string {
  if (demand === "informative") return name;
  const times = isRatio(demand) ? " ×" : "";
  return `${name}: ${short(found)}${times} (${boundText(demand)}${times})${holds ? "" : ", missed"}`;
}

function text(x: number, y: number, content: string, kind: string): string {
  return `<text class="${kind}" x="${x.toFixed(1)}" y="${y}">${escaped(content)}</text>`;
}

function escaped(content: string): string {
  return content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
