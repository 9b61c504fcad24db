import assert from "node:assert/strict";
import { type Block, blocksOf, readPages, wordOf } from "./blocks.ts";
import { isConfiguration } from "./configurations.ts";

/** What cannot run in a test, by page and first line, and why. */
const leftOut: Readonly<Record<string, string>> = {};

Deno.test("every block of the pages that can run is run, and every other one is named with its reason", async () => {
  const still: string[] = [];
  for (const [path, page] of await readPages()) {
    for (const block of blocksOf(page).filter(isOfInterest)) {
      if (!isProved(block)) still.push(`${path}: ${block.text.split("\n")[0]}`);
    }
  }
  assert.deepEqual(still.toSorted(), Object.keys(leftOut).toSorted());
});

Deno.test("isProved() takes what is run, saved or a configuration, and nothing else", () => {
  const proved = (fence: string, text: string) =>
    blocksOf(`\`\`\`${fence}\n${text}\n\`\`\`\n`).map((block) => [isOfInterest(block), isProved(block)]);
  assert.deepEqual(proved("sh run with=ssh", "postern test"), [[true, true]]);
  assert.deepEqual(proved("sh", "postern test"), [[true, false]]);
  assert.deepEqual(proved("console", "$ postern test"), [[true, false]]);
  assert.deepEqual(proved("yaml", "routes: []"), [[true, true]]);
  assert.deepEqual(proved("yaml", "kind: Proxy"), [[true, false]]);
  assert.deepEqual(proved("yaml file=proxy.yaml", "kind: Proxy"), [[true, true]]);
  assert.deepEqual(proved("text", "$ postern test"), [[true, false]]);
  assert.deepEqual(proved("text", "ready"), [[false, false]]);
});

/** Commands, also where they stand among what they print, and YAML. */
function isOfInterest({ language, text }: Block): boolean {
  return ["sh", "bash", "console", "yaml"].includes(language) || /^\$ /m.test(text);
}

function isProved(block: Block): boolean {
  return wordOf(block, "file") !== undefined || block.language === "sh" && block.words[0] === "run" ||
    isConfiguration(block);
}
