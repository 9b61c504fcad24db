import assert from "node:assert/strict";
import { peerTest } from "../support/peers.ts";
import { readPages } from "./blocks.ts";
import { DocumentRun, type Example, examplesOf, type Surroundings } from "./document_run.ts";
import { RealSurroundings, surroundingPeers } from "./surroundings.ts";

const documents = [...await readPages()].map(([path, page]) => ({ path, examples: examplesOf(page) }))
  .filter(({ examples }) => examples.length > 0);
const isAlone = ({ examples }: { examples: readonly Example[] }) =>
  examples.every(({ needs }) => needs.length === 0);

for (const { path, examples } of documents.filter(isAlone)) {
  peerTest(
    `the examples of ${path} print the documented output`,
    ["bash", "curl", "python"],
    (paths) => doWhatTheySay(paths, examples),
  );
}

peerTest(
  "the examples in documents with surroundings print the documented output",
  ["bash", "curl", "python", ...surroundingPeers],
  async (paths, t) => {
    await using real = new RealSurroundings(paths);
    for (const { path, examples } of documents.filter((document) => !isAlone(document))) {
      await t.step(path, async () => {
        const surroundings = await real.of(examples.flatMap(({ needs }) => needs));
        await doWhatTheySay(paths, examples, surroundings);
      });
    }
  },
);

Deno.test("examplesOf() finds the blocks to run with their output", () => {
  const page = "```sh run\na\nb\n```\n\n```text\nc\n```\n\n```sh\nd\n```\n\n```text\nnot of it\n```\n";
  assert.deepEqual(examplesOf(page), [{ commands: "a\nb", prints: ["c"], needs: [] }]);
});

Deno.test("examplesOf() saves files and keeps commands running", () => {
  const page =
    "- ```yaml file=a/b.yaml\n  c:\n    - d\n  ```\n\n```sh run stays with=x,y\npostern a \\\n  b\n```\n";
  assert.deepEqual(examplesOf(page.replace("- ", "  ")), [
    {
      commands: `mkdir -p "$(dirname a/b.yaml)"\ncat > a/b.yaml <<'END_OF_FILE'\nc:\n  - d\nEND_OF_FILE`,
      prints: [],
      needs: [],
    },
    { commands: "stays postern a b", prints: [], needs: ["x", "y"] },
  ]);
});

async function doWhatTheySay(
  { bash, python }: { readonly bash: string; readonly python: string },
  examples: readonly Example[],
  surroundings?: Surroundings,
): Promise<void> {
  await using run = await DocumentRun.open({ python }, surroundings);
  const { code, output } = await run.all(bash, examples);
  assert.equal(code, 0, output.join("\n---\n"));
  for (const [index, example] of examples.entries()) saysAll(output[index] ?? "", example);
}

/** Checks the output; numbers and blanks may differ, and `…` stands for omitted lines. */
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
