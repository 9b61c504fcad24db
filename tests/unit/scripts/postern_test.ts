import assert from "node:assert/strict";
import { splitFlags } from "../../../scripts/postern.ts";

const fronts = [
  { words: ["proxy", "--allow-run=a"], programs: [], args: ["proxy", "--allow-run=a"] },
  { words: ["--allow-run=a,b", "--allow-run=/c", "proxy"], programs: ["a", "b", "/c"], args: ["proxy"] },
  { words: ["--allow-run=a"], programs: ["a"], args: [] },
  { words: [], programs: [], args: [] },
];
for (const { words, ...split } of fronts) {
  Deno.test(`splitFlags() of "${words.join(" ")}"`, () => {
    assert.deepEqual(splitFlags(words), split);
  });
}
