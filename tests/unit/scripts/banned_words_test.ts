import assert from "node:assert/strict";
import { bannedWords, longSentences, proseFiles } from "../../../scripts/banned_words.ts";

/** The directories and files with sentences of postern. */
const parts = [
  ...["src", "tests", "scripts", "docs", "deploy", ".ci", ".github"],
  ...["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "deno.json", "main.ts"],
];

/** Hits that stay, each with its reason. */
const allowed: readonly { readonly file: string; readonly words: string; readonly why: string }[] = [
  { file: "CHANGELOG.md", words: "door", why: "the former name of the events" },
  { file: "tests/support/real_proxies.ts", words: "nobody", why: "squid's account" },
  { file: "scripts/bench_contenders.ts", words: "nobody", why: "dante's account" },
];

Deno.test("no file of the repository uses a banned word", async () => {
  const found: string[] = [];
  let files = 0;
  const unused = new Set(allowed);
  for (const part of parts) {
    for await (const path of proseFiles(part)) {
      files++;
      for (const { line, words, instead } of bannedWords(await Deno.readTextFile(path))) {
        const reason = allowed.find((entry) => entry.file === path && entry.words === words.toLowerCase());
        if (reason) unused.delete(reason);
        else found.push(`${path}:${line}: "${words}": write ${instead}`);
      }
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
