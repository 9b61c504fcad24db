import assert from "node:assert/strict";
import { flags, logOptions, notFlags, optionalValues } from "../../../src/permissions/option_table.ts";
import { blocksOf } from "../../docs/blocks.ts";
import { commandLinesOf, wordsOfLine } from "../../docs/command_lines.ts";
import { agree, allForms, gistRead, optionsOf } from "../../support/parsed_line.ts";

const root = new URL("../../../", import.meta.url);

// kubelogin gets all its words unchanged.
for (const form of allForms.filter(({ name }) => name !== "kubelogin")) {
  Deno.test(`the table knows which options of ${form.name} take a value`, () => {
    const [name = "", ...words] = form.name.split(" ");
    for (const [option, hasValue] of optionsOf(form)) {
      if (option === "--config") continue;
      const takesNext = hasValue && !optionalValues.includes(option);
      const line = [name, ...words.slice(0, 1), option, "--config", "x", ...words.slice(1)];
      // An option that takes the next word also takes `--config`.
      assert.equal(gistRead(line).config, takesNext ? undefined : "x", option);
    }
  });
}

Deno.test("the table lists only existing options", () => {
  const all = new Set(allForms.flatMap((form) => [...optionsOf(form).keys()]));
  const named = [...flags, ...optionalValues, ...logOptions, ...Object.values(notFlags).flat()];
  // postern itself searches for these.
  const ours = ["--help", "-h", "--version"];
  assert.deepEqual(named.filter((option) => !all.has(option) && !ours.includes(option)), []);
});

Deno.test("the parser agrees on every example in the help", () => {
  const lines = allForms.flatMap((form) => examplesOf(form.help(10_000)));
  assert.equal(taken(lines.map(wordsOfLine)), lines.length);
  assert.ok(lines.length >= 140);
});

Deno.test("the parser agrees on every command line of the documents", async () => {
  const pages = [];
  for await (const path of pagesBelow(root)) pages.push(await Deno.readTextFile(path));
  const run = pages.flatMap(blocksOf).filter(({ language, words }) => language === "sh" && words.length > 0)
    .flatMap(({ text }) => [...text.matchAll(/postern .*/g)].map(([line]) => line));
  // A few lack an argument, which the surrounding sentence gives.
  assert.ok(taken([...pages.flatMap(commandLinesOf), ...run].map(wordsOfLine)) >= 260);
});

Deno.test("the parser agrees on every command line of the transcripts", async () => {
  const found: string[][] = [];
  for await (const { name } of Deno.readDir(new URL("tests/cli/", root))) {
    if (name.endsWith("_test.ts")) {
      found.push(...wordsWritten(await Deno.readTextFile(new URL(`tests/cli/${name}`, root))));
    }
  }
  assert.ok(taken(found) >= 240);
});

/** How many of these lines the parser accepts; both readers agree on them. */
function taken(lines: readonly (readonly string[])[]): number {
  return lines.filter((line) => agree(line)).length;
}

/** The command lines of a help page. */
function examplesOf(page: string): string[] {
  const [, examples = ""] = page.split("\nExamples:\n");
  return [...examples.matchAll(/^ {2}(?! ).*?(postern .*?)(?:\)"?.*| [|<>].*|; .*)?$/gm)].map((
    [, line = ""],
  ) => line);
}

/** The string arrays of a test file, which are command lines. */
function wordsWritten(source: string): string[][] {
  const arrays = source.matchAll(/\[\s*("(?:[^"\\\n]|\\.)*"\s*,?\s*)+\]/g);
  return [...arrays].map(([text]) => JSON.parse(text.replace(/,\s*\]$/, "]")));
}

async function* pagesBelow(directory: URL): AsyncGenerator<URL> {
  for await (const { name, isDirectory } of Deno.readDir(directory)) {
    if (["node_modules", ".git", "dist", "src", "tests", "scripts"].includes(name)) continue;
    if (isDirectory) yield* pagesBelow(new URL(`${name}/`, directory));
    else if (name.endsWith(".md")) yield new URL(name, directory);
  }
}
