import assert from "node:assert/strict";
import { peerTest } from "../support/peers.ts";
import { DocumentRun, type Example, examplesOf } from "./document_run.ts";

const root = new URL("../../", import.meta.url);

for (const path of await documents()) {
  const examples = examplesOf(await Deno.readTextFile(new URL(path, root)));
  if (examples.length === 0) continue;
  peerTest(
    `the examples of ${path} do what it says`,
    ["bash", "curl", "python"],
    async ({ bash, python }) => {
      await using run = await DocumentRun.open({ python });
      const { code, output } = await run.all(bash, examples);
      assert.equal(code, 0, output.join("\n---\n"));
      for (const [index, example] of examples.entries()) saysAll(output[index] ?? "", example);
    },
  );
}

Deno.test("examplesOf() finds the blocks to run, each with what it prints", () => {
  const page = "```sh run\na\nb\n```\n\n```text\nc\n```\n\n```sh\nd\n```\n\n```text\nnot of it\n```\n";
  assert.deepEqual(examplesOf(page), [{ commands: "a\nb", prints: ["c"] }]);
});

/** Numbers and blanks differ from run to run; what stands under `…` is left out. */
function saysAll(output: string, { commands, prints }: Example): void {
  const said = output.split("\n").map(plain);
  let at = 0;
  for (const line of prints) {
    const found = said.indexOf(plain(line), at);
    assert.ok(found >= 0, `after\n${commands}\nthere is no line\n${line}\nin\n${output}`);
    at = found + 1;
  }
}

function plain(line: string): string {
  return line.replace(/[0-9]+(\.[0-9]+)?/g, "0").replace(/\s+/g, " ").trim();
}

async function documents(): Promise<string[]> {
  const paths = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"];
  for await (const { name } of Deno.readDir(new URL("docs/guide/", root))) paths.push(`docs/guide/${name}`);
  return paths.filter((path) => path.endsWith(".md")).sort();
}
