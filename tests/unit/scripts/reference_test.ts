import assert from "node:assert/strict";
import settings from "../../../deno.json" with { type: "json" };
import { projectRoot, referencePages } from "../../../scripts/reference.ts";
import { table, withPart } from "../../../scripts/reference_page.ts";
import { roomsPart } from "../../../scripts/reference_rooms.ts";

for (const [path, content] of await referencePages()) {
  Deno.test(`referencePages(): ${path} is up to date; otherwise run deno task reference`, async () => {
    assert.equal(await Deno.readTextFile(new URL(path, projectRoot)), content);
  });
}

Deno.test("referencePages() describe every key of the configuration's schema", async () => {
  const pages = await referencePages();
  const page = pages.get("docs/reference/configuration.md") ?? "";
  const schema = pages.get("docs/reference/postern.schema.json") ?? "";
  const keys = [...schema.matchAll(/^ *"(\w+)": \{\n *("type"|"anyOf")/gm)].map(([, key = ""]) => key)
    .filter((key) => !["items", "additionalProperties"].includes(key));
  assert.ok(keys.includes("halfCloseLinger") && keys.includes("passwordFile"), keys.join(" "));
  for (const key of keys) assert.match(page, new RegExp(`\\b${key}\``), key);
});

Deno.test("docs/decisions/dependencies.md lists exactly the packages of deno.json", async () => {
  const page = await Deno.readTextFile(new URL("docs/decisions/dependencies.md", projectRoot));
  // Later sections describe packages that postern does not use.
  const [taken = ""] = page.split(/^## /m);
  const cells = [...taken.matchAll(/^\| (`[^|]*)\|/gm)].map(([, cell = ""]) => cell);
  const named = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name));
  assert.deepEqual(named.sort(), Object.keys(settings.imports).sort());
});

Deno.test("table() pads its columns and escapes bars", () => {
  assert.equal(
    table(["a", "long"], [["x|y", "1"]]),
    "| a    | long |\n| ---- | ---- |\n| x\\|y | 1    |",
  );
});

Deno.test("withPart() replaces only the text between the marks", () => {
  const page = "before\n<!-- x -->\nold\n<!-- end of x -->\nafter\n";
  const expected = "before\n<!-- x -->\n\nnew\n\n<!-- end of x -->\nafter\n";
  assert.equal(withPart(page, "x", "new"), expected);
  assert.equal(withPart(expected, "x", "new"), expected);
});

Deno.test("withPart() fails without marks", () => {
  assert.throws(() => withPart("<!-- end of x --><!-- x -->", "x", "new"), /"x"/);
  assert.throws(() => withPart("", "x", "new"), /"x"/);
});

Deno.test("roomsPart() draws each import that others do not imply", async () => {
  const part = await roomsPart(new URL("src/", projectRoot));
  assert.match(part, /^ {2}wire --> core$/m);
  assert.doesNotMatch(part, /^ {2}app --> core$/m);
  assert.match(part, /^\| `plan` .* core world config /m);
});
