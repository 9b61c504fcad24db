import assert from "node:assert/strict";

const root = new URL("../../", import.meta.url);
const page = "docs/guide/troubleshooting.md";

Deno.test(`every sentence that ${page} explains is one that the program says`, async () => {
  const section = /## What the door says\n(.*?)\n## /s.exec(await Deno.readTextFile(new URL(page, root)))
    ?.[1];
  const sentences = [...(section ?? "").matchAll(/^\| (`.*?) +\|/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, text = ""]) => text)
  );
  assert.ok(sentences.length > 15, `${sentences.length} sentences`);
  const source = await textBelow(new URL("src/", root));
  const unsaid = sentences.filter((sentence) => fixedParts(sentence).some((part) => !source.includes(part)));
  assert.deepEqual(unsaid, []);
});

Deno.test("fixedParts() leaves out what differs", () => {
  assert.deepEqual(fixedParts('Cannot reach HOST:PORT: no answer within 20 s, "x"'), [
    "Cannot reach ",
    ": no answer within ",
  ]);
});

/** The words of a sentence that are written so in the code: without names, numbers, what is quoted, and "the proxy". */
function fixedParts(sentence: string): string[] {
  return sentence.split(/…|"[^"]*"|\b[A-Z]{2,}(?::[A-Z]+)*\b|[0-9]+|\b[ab]\b via|the proxy/).filter((part) =>
    part.length > 5
  );
}

async function textBelow(directory: URL): Promise<string> {
  const texts: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(directory)) {
    const path = new URL(isDirectory ? `${name}/` : name, directory);
    texts.push(isDirectory ? await textBelow(path) : await Deno.readTextFile(path));
  }
  return texts.join("\n");
}
