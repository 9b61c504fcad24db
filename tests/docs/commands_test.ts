import assert from "node:assert/strict";
import { parseSync } from "@optique/core/parser";
import { commandGroups } from "../../src/cli/line/all_commands.ts";
import { find } from "../../src/cli/line/command_line.ts";
import { blocksOf, readPages } from "./blocks.ts";

/** What is no whole command line: its words are left out, or stand for others. */
const unfinished: readonly string[] = [
  "postern explain",
  "postern explain --dial",
  "postern COMMAND --help",
  "postern dns --print SYSTEM",
  "postern clusters 'c-prod-*' --each -- oc get co",
];

Deno.test("every command line that the pages name is one that the program takes", async () => {
  const seen = new Set<string>();
  const refused: string[] = [];
  for (const [path, page] of await readPages()) {
    for (const line of commandLinesOf(page)) {
      if (unfinished.includes(line)) seen.add(line);
      else if (!isTaken(line)) refused.push(`${path}: ${line}`);
    }
  }
  assert.deepEqual(refused, []);
  assert.deepEqual(unfinished.filter((line) => !seen.has(line)), []);
});

Deno.test("isTaken() knows commands and options", () => {
  assert.ok(isTaken("postern explain --dial HOST:PORT"));
  assert.ok(!isTaken("postern explain --dail HOST:PORT"));
  assert.ok(!isTaken("postern explian HOST:PORT"));
});

/** Those in the sentences and tables of a page, and those of blocks that nothing runs. */
function commandLinesOf(page: string): string[] {
  const prose = page.replace(/^ *```.*?^ *```$/gms, "");
  const spans = [...prose.matchAll(/`(postern [^`]+)`/g)].map(([, span = ""]) =>
    span.replaceAll(/\s+/g, " ")
  );
  const blocks = blocksOf(page).filter(({ language, words }) => language === "sh" && words.length === 0);
  const lines = blocks.flatMap(({ text }) => text.replaceAll(/\\\n\s*/g, "").split("\n"))
    .filter((line) => line.startsWith("postern ")).map((line) => line.replace("… ", ""));
  const jobs = blocksOf(page).filter(({ language }) => language === "yaml").flatMap(({ text }) =>
    [...text.matchAll(/(?:run: |- |\[)(postern [^\]\n]+)/g)].map(([, line = ""]) => line)
  );
  return [...spans, ...lines, ...jobs];
}

/** Whether the command is there and its parser takes the words. */
function isTaken(line: string): boolean {
  const words = [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)];
  const [name = "", ...rest] = words.map(([, single, double, plain]) => single ?? double ?? plain ?? "")
    .slice(1);
  const isCommand = commandGroups.some(({ commands }) => commands.some((command) => command.name === name));
  return isCommand &&
    [rest, withEmptyValues(rest)].some((words) => parseSync(find(commandGroups, name).parser, words).success);
}

/** Some options may be without their value, which the program tells its parser by an empty one. */
function withEmptyValues(words: readonly string[]): string[] {
  return words.map((word, at) =>
    /^--[a-z-]+$/.test(word) && /^-|^$/.test(words[at + 1] ?? "") ? `${word}=` : word
  );
}
