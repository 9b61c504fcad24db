import assert from "node:assert/strict";
import { getDocPageSync } from "@optique/core/parser";
import { bannedWords, longSentences } from "../../../scripts/banned_words.ts";
import { commandGroups } from "../../../src/cli/line/all_commands.ts";
import type { Command } from "../../../src/cli/line/command.ts";
import { overview } from "../../../src/cli/line/command_line.ts";
import { sourceTexts, stringsOf } from "../../support/source_texts.ts";
import { clusterVerbs } from "../../../src/permissions/option_table.ts";

// Part 1: the help of every command.

/** Wide enough for the longest entry to stay on one line. */
const unbroken = 100_000;

/** The verbs that a summary may begin with. */
const verbs = new Set(
  ("Check Clean Close Connect Delete Fetch Install List Make Open Print Reload Run Set Show Sign Start Stop Switch " +
    "Test Write").split(" "),
);

const notWords = notWordsOf(await Deno.readTextFile(new URL("../../../docs/glossary.md", import.meta.url)));
const commands = commandGroups.flatMap((group) => group.commands).flatMap(formsOf);

for (const command of commands) {
  const { name, summary } = command;
  Deno.test(`words: the summary of ${name}`, () => assert.deepEqual(summaryFaults(summary), []));
  Deno.test(`words: the help of ${name}`, () => {
    for (const page of helpPages(command)) assert.deepEqual(helpFaults(page, notWords), []);
  });
}

Deno.test("words: the main help page", () => {
  const [tagline, ...rest] = overview(commandGroups, unbroken).split("\n");
  assert.equal(tagline, "postern: one local door into every private cluster");
  assert.deepEqual(helpFaults(rest.join("\n"), notWords), []);
});

const badSummaries = [
  ["shows the instances", /verb/],
  ["The running instances", /verb/],
  ["Shows the instances", /verb/],
  ["Show the instances.", /period/],
  [`Show ${"instances ".repeat(8).trim()}`, /60/],
  ["Show the running doors", /"door"/],
  ["Show whoever is connected", /whoever/],
] as const;
for (const [summary, says] of badSummaries) {
  Deno.test(`words: "${summary}" is not a summary`, () => {
    const faults = summaryFaults(summary);
    assert.ok(faults.some((fault) => says.test(fault)), faults.join("; "));
  });
}

const badHelp = [
  ["  --listen ADDR  A door for SOCKS.", /"door"/],
  ["  --via NAME  The way out to use.", /"way out"/],
  ["  --now  Tells nobody.", /nobody/],
  [`  --all  ${"word ".repeat(41)}.`, /over 40 words/],
] as const;
for (const [page, says] of badHelp) {
  Deno.test(`words: "${page.slice(0, 40)}" is bad help`, () => {
    const faults = helpFaults(page, notWords);
    assert.ok(faults.some((fault) => says.test(fault)), faults.join("; "));
  });
}

Deno.test("words: help may quote a banned word in a usage line or a command to type", () => {
  assert.deepEqual(helpFaults("Usage: postern door NAME\n\nExamples:\n  postern door x\n", notWords), []);
});

Deno.test("words: the last column of the glossary's first table", () => {
  assert.deepEqual(
    notWordsOf(
      "| use | for | not |\n| --- | --- | --- |\n| **a** | x | b, c d |\n| **e** | y | |\n\n| w | m |\n",
    ),
    ["b", "c d"],
  );
  assert.ok(notWords.includes("door") && notWords.includes("way out"), notWords.join(", "));
});

/** A command with all forms that have their own help (`clusters NAME kubectl`). */
function formsOf(command: Command): Command[] {
  const { form } = command;
  if (!form) return [command];
  const lines = [["--each"], ...clusterVerbs.map((verb) => ["NAME", verb])];
  const forms = lines.map((line) => form.call(command, line).command);
  return [...new Set([command, ...forms])];
}

/** The help of a command and of each of its subcommands. */
function helpPages(command: Command): string[] {
  const entries = getDocPageSync(command.parser)?.sections.flatMap((section) => section.entries) ?? [];
  const parts = entries.flatMap(({ term }) => term.type === "command" ? [term.name] : []);
  return [command.help(unbroken), ...parts.map((part) => command.help(unbroken, [part]))];
}

function summaryFaults(summary: string): string[] {
  const [first = ""] = summary.split(/[ ,]/);
  return [
    ...(verbs.has(first) ? [] : [`"${first}" is not a capitalized imperative verb of the list`]),
    ...(summary.endsWith(".") ? ["ends with a period"] : []),
    ...(summary.length > 60 ? [`${summary.length} characters, more than 60`] : []),
    ...wordFaults(summary, notWords),
  ];
}

function helpFaults(page: string, notWords: readonly string[]): string[] {
  const lines = page.split("\n").filter((line) => !/^(?:Usage:| {7}postern | {2}postern )/.test(line));
  return lines.flatMap((line) => [
    ...wordFaults(line, notWords),
    ...longSentences(line).map((sentence) => `over 40 words: ${sentence}`),
  ]);
}

function wordFaults(text: string, notWords: readonly string[]): string[] {
  return [
    ...notWords.filter((word) => new RegExp(`\\b${word}s?\\b`, "i").test(text)).map((word) =>
      `the glossary forbids "${word}": ${text}`
    ),
    ...bannedWords(text).map(({ words, instead }) => `${words}: write ${instead}`),
  ];
}

/** The words of the last column of the first table. */
function notWordsOf(glossary: string): string[] {
  const [table = ""] = glossary.slice(glossary.indexOf("| use")).split("\n\n", 1);
  const cells = table.split("\n").slice(2).map((row) => row.split("|").at(-2)?.trim() ?? "");
  return cells.flatMap((cell) => cell.split(", ")).filter((word) => word !== "");
}

// Part 2: the sentences in string literals of src, which include all errors and hints.

Deno.test("words: no sentence in a string of src has over 40 words", async () => {
  const found: string[] = [];
  let count = 0;
  for await (const [path, text] of sourceTexts("src")) {
    for (const literal of stringsOf(text)) {
      count++;
      found.push(...longLines(literal).map((sentence) => `${path}: ${sentence}`));
    }
  }
  assert.ok(count > 5000, `only ${count} literals found`);
  assert.deepEqual(found, []);
});

/** The long sentences of a literal whose lines end sentences; a list of short words is not a sentence. */
function longLines(literal: string): string[] {
  return literal.split("\n").flatMap((line) => longSentences(line)).filter((line) => /\p{L}{5}/u.test(line));
}

const literalCases = [
  { name: "plain strings", text: `f("a b", 'c \\' d')`, is: ["a b", "c ' d"] },
  { name: "a joined string", text: `f("a " +\n  "b " + \`c\`)`, is: ["a b c"] },
  { name: "a template with an expression", text: "`a ${f({ x: `y` })} b`", is: ["y", "a x b"] },
  { name: "no comments", text: '// "a"\n/* "b" */ "c"', is: ["c"] },
  { name: "no regular expressions", text: 'x.replace(/["`/]/g, "a")', is: ["a"] },
  {
    name: "an expression with a brace",
    text: 'f(`a ${{ b: "}" }[`c`]} d`, "e")',
    is: ["}", "c", "a x d", "e"],
  },
  { name: "a division", text: 'x / 2 + f("a") / y', is: ["a"] },
];
for (const { name, text, is } of literalCases) {
  Deno.test(`words: stringsOf() finds ${name}`, () => assert.deepEqual(stringsOf(text), is));
}

Deno.test("words: a long sentence in two joined strings is found", () => {
  const half = "word ".repeat(25);
  const [literal = ""] = stringsOf(`throw new PosternError("usage", "${half}" +\n  "${half}")`).slice(1);
  assert.equal(longLines(`${literal} ended`).length, 1);
});
