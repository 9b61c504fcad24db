import assert from "node:assert/strict";
import { sourceTexts } from "../../support/source_texts.ts";

/** Messages concatenated from another error instead of using `withContext`, `pathFailure` or `reasonOf`. */
const byHand = [
  /["`](?:Cannot|cannot) [^"`]*\$\{[^}`]*(?:\bdescribe\(|\b\w*(?:[eE]rror|[cC]ause|[fF]ailure)\w*\.message)/,
  /new PosternError\(\s*[^,]+,\s*\w+\.message,/,
];

Deno.test("no code concatenates a message from another error", async () => {
  const found: string[] = [];
  let files = 0;
  for await (const [path, text] of sourceTexts("src")) {
    files++;
    if (isByHand(text)) found.push(path);
  }
  assert.ok(files > 500, `${files} files`);
  assert.deepEqual(found, []);
});

const wrong = [
  "new PosternError(code, `Cannot reach ${label}: ${error.message}`, { cause: error })",
  "`Cannot ask the cluster's DNS: ${describe(error)}`",
  "`Cannot go on with ${this.peer}: ${\n  plain(describe(cause))\n}`",
  "new PosternError(error.code, error.message, { hint })",
];
for (const text of wrong) {
  Deno.test(`${JSON.stringify(text)} counts as concatenated`, () => assert.ok(isByHand(text)));
}

function isByHand(text: string): boolean {
  return byHand.some((pattern) => pattern.test(text));
}
