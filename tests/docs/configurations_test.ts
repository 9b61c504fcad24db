import assert from "node:assert/strict";
import { formatProblems, isError, parseDocument, rootContext } from "../../src/config/mod.ts";
import { configurationsOf, schema } from "./configurations.ts";

const root = new URL("../../", import.meta.url);

for await (const path of documents()) {
  const page = await Deno.readTextFile(new URL(path, root));
  for (const [index, text] of configurationsOf(page).entries()) {
    Deno.test(`configuration ${index + 1} of ${path} is valid`, async () => {
      const document = await parseDocument(text, { name: path });
      const context = rootContext({ base: "/", home: "/", runtime: "/", env: () => undefined });
      schema.parse(document.value, context);
      const problems = [...document.problems, ...context.problems].filter(isError);
      assert.deepEqual(formatProblems(problems, document), []);
    });
  }
}

Deno.test("configurationsOf() returns blocks that begin with one of postern's keys", () => {
  const page = "```yaml\n# a remark\nroutes: []\n```\n\n```yaml\nclusters: []\n```\n";
  assert.deepEqual(configurationsOf(page), ["# a remark\nroutes: []"]);
});

async function* documents(): AsyncGenerator<string> {
  yield "README.md";
  for (const folder of ["docs/guide/", "docs/decisions/"]) {
    for await (const { name } of Deno.readDir(new URL(folder, root))) {
      if (name.endsWith(".md")) yield `${folder}${name}`;
    }
  }
}
