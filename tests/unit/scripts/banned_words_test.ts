import assert from "node:assert/strict";
import { bannedWords, isOurProse, longSentences } from "../../../scripts/banned_words.ts";

const root = new URL("../../../", import.meta.url);
/** Where sentences of ours may be; `.git` and what is built are left out. */
const parts = ["src", "tests", "scripts", "docs", "deploy", ".ci", ".github"];
const pages = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "deno.json", "main.ts"];

/** Hits that stay, each with its reason. */
const allowed: readonly { readonly file: string; readonly words: string; readonly why: string }[] = [
  { file: "CHANGELOG.md", words: "door", why: "the former name of the events" },
  { file: "tests/support/intercepting_proxy.ts", words: "nobody", why: "squid's account" },
  { file: "scripts/bench_contenders.ts", words: "nobody", why: "dante's account" },
];

Deno.test("no file of the repository uses a banned word", async () => {
  const found: string[] = [];
  let files = 0;
  const unused = new Set(allowed);
  for await (const path of ourFiles()) {
    files++;
    for (const { line, words, instead } of bannedWords(await Deno.readTextFile(new URL(path, root)))) {
      const reason = allowed.find((entry) => entry.file === path && entry.words === words.toLowerCase());
      if (reason) unused.delete(reason);
      else found.push(`${path}:${line}: "${words}": write ${instead}`);
    }
  }
  assert.ok(files > 1500, `${files} files`);
  assert.deepEqual(found, []);
  assert.deepEqual([...unused], [], "allowed, and not there");
});

const bad: readonly (readonly [text: string, words: string])[] = [
  ["Whoever asks gets it.", "Whoever"],
  ["It says so to nobody.", "nobody"],
  ["SOMEBODY holds it", "SOMEBODY"],
  ["is made anew", "anew"],
  ["and besides the log", "besides"],
  ["/**\n * The client is\n * told.\n */", "is told"],
  ["// a list of\n// ours", "of ours"],
  ["the host that stands\n  behind it", "stands behind"],
  ["unless told otherwise", "unless told"],
  ["a running door", "door"],
  ["the way out", "way out"],
];
for (const [text, words] of bad) {
  Deno.test(`bannedWords() finds "${words}" in ${JSON.stringify(text)}`, () => {
    assert.deepEqual(bannedWords(text).map((found) => found.words), [words]);
  });
}

const good = [
  "one local door into every private cluster",
  "the outdoor sensor",
  "a backdoor",
  "told the server",
  "no body",
  "behind the host",
  "of hours",
];
for (const text of good) {
  Deno.test(`bannedWords() finds nothing in ${JSON.stringify(text)}`, () => {
    assert.deepEqual(bannedWords(text), []);
  });
}

Deno.test("bannedWords() counts lines", () => {
  assert.deepEqual(bannedWords("a\nb\n# c anew\n").map(({ line }) => line), [3]);
});

Deno.test("longSentences() counts the words of each sentence", () => {
  const forty = Array.from({ length: 40 }, () => "word").join(" ");
  assert.deepEqual(longSentences(`${forty}. ${forty}.`), []);
  assert.equal(longSentences(`${forty} more.`).length, 1);
});

async function* ourFiles(): AsyncGenerator<string> {
  for (const path of pages) if (isOurProse(path)) yield path;
  for (const part of parts) yield* filesBelow(part);
}

async function* filesBelow(directory: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(new URL(`${directory}/`, root))) {
    const path = `${directory}/${name}`;
    if (isDirectory) yield* filesBelow(path);
    else if (isOurProse(path)) yield path;
  }
}
