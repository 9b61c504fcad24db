import assert from "node:assert/strict";
import {
  type RecordedStep,
  terminalPicture,
  textOf,
  transcriptOf,
} from "../../../scripts/pictures_terminal.ts";

const root = new URL("../../../", import.meta.url);
const [picture, transcript, readme] = await Promise.all(
  ["docs/pictures/first-minute.svg", "docs/pictures/first-minute.txt", "README.md"]
    .map((path) => Deno.readTextFile(new URL(path, root))),
) as [string, string, string];

const steps: RecordedStep[] = [
  {
    remark: "A remark",
    command: 'say "a < b" & wait',
    output: ["a & b", "", `${"x".repeat(118)}yz`],
    screens: [],
  },
  { command: "watch", output: [], screens: [["one", "", "  two"], ["three"]], seconds: 1.234 },
];
const text = '# A remark\n$ say "a < b" & wait\na & b\n' + `${"x".repeat(118)}\nyz\n` +
  "$ watch\n1.23 s\none\n  two\nthree\n";

Deno.test("the recording in README.md shows its transcript, word for word", () => {
  assert.equal(textOf(picture), transcript);
});

Deno.test("the recording in README.md is small and runs no script", () => {
  assert.ok(picture.length < 60_000, `${picture.length} bytes`);
  assert.doesNotMatch(picture, /<script|<foreignObject|href=|\bon\w+=/);
});

Deno.test("README.md has the recorded curl commands, word for word", () => {
  const recorded = [...transcript.matchAll(/^\$ (.*)$/gm)].map(([, command = ""]) => command);
  const curls = recorded.filter((command) => command.startsWith("curl --proxy"));
  assert.equal(curls.length, 2);
  for (const curl of curls) assert.ok(readme.split("\n").includes(curl), curl);
  assert.ok(recorded.includes("postern top") && readme.includes("`postern top`"));
});

Deno.test("transcriptOf() has every line once, without blank ones", () =>
  assert.equal(transcriptOf(steps), text));

Deno.test("terminalPicture() shows what transcriptOf() says", () => {
  assert.equal(textOf(terminalPicture("a title", steps)), text);
});

Deno.test("terminalPicture() refuses a command that is wider than the terminal", () => {
  assert.throws(
    () => terminalPicture("a title", [{ command: "x".repeat(118), output: [], screens: [] }]),
    /too long/,
  );
});
