import assert from "node:assert/strict";
import { parseSync } from "@optique/core/parser";
import { commandGroups } from "../../src/cli/line/all_commands.ts";
import { find } from "../../src/cli/line/command_line.ts";
import { readPages } from "./blocks.ts";
import { commandLinesOf, wordsOfLine } from "./command_lines.ts";

/** Incomplete command lines, or lines with placeholders. */
const unfinished: readonly string[] = [
  "postern explain",
  "postern COMMAND --help",
  "postern dns --print SYSTEM",
  "postern clusters 'c-prod-*' --each -- oc get co",
];

Deno.test("postern accepts every command line on the pages", async () => {
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

Deno.test("isTaken() checks commands and options", () => {
  assert.ok(isTaken("postern explain --dial HOST:PORT"));
  assert.ok(!isTaken("postern explain --dail HOST:PORT"));
  assert.ok(!isTaken("postern explian HOST:PORT"));
});

/** Whether the command exists and its parser accepts the words. */
function isTaken(line: string): boolean {
  const [name = "", ...rest] = wordsOfLine(line);
  const isCommand = commandGroups.some(({ commands }) => commands.some((command) => command.name === name));
  return isCommand &&
    [rest, withEmptyValues(rest)].some((words) => parseSync(find(commandGroups, name).parser, words).success);
}

/** Adds an empty value to options without one, as postern does for its parser. */
function withEmptyValues(words: readonly string[]): string[] {
  return words.map((word, at) =>
    /^--[a-z-]+$/.test(word) && /^-|^$/.test(words[at + 1] ?? "") ? `${word}=` : word
  );
}
