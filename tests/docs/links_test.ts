import assert from "node:assert/strict";

const root = new URL("../../", import.meta.url);

for await (const path of documents()) {
  Deno.test(`every link of ${path} has a target`, async () => {
    const text = await Deno.readTextFile(new URL(path, root));
    const broken: string[] = [];
    for (const link of linksOf(text)) {
      const target = new URL(link, new URL(path, root));
      if (!await leadsSomewhere(target)) broken.push(link);
    }
    assert.deepEqual(broken, []);
  });
}

for await (const path of documents()) {
  Deno.test(`every project file that ${path} names exists`, async () => {
    const missing: string[] = [];
    for (const file of filesOf(await Deno.readTextFile(new URL(path, root)))) {
      // A page about one directory may omit that directory in paths.
      const places = ["", "src/", "tests/"].map((folder) => new URL(`${folder}${file}`, root));
      if (!(await Promise.all(places.map(leadsSomewhere))).includes(true)) missing.push(file);
    }
    assert.deepEqual(missing, []);
  });
}

Deno.test("each feature in ARCHITECTURE.md names three files to read first", async () => {
  const [, features = ""] = (await Deno.readTextFile(new URL("ARCHITECTURE.md", root))).split(
    "\n## Features\n",
  );
  const sections = features.replace(/\n## .*/s, "").split(/^### /m).slice(1);
  assert.ok(sections.length >= 10, `${sections.length} sections`);
  for (const section of sections) {
    assert.equal(filesOf(section.split("Read first:")[1] ?? "").length, 3, section.split("\n")[0]);
  }
});

Deno.test("docs/decisions/README.md has a line for every decision", async () => {
  const folder = new URL("docs/decisions/", root);
  const links = linksOf(await Deno.readTextFile(new URL("README.md", folder)));
  const pages = (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name);
  assert.deepEqual(
    links.filter((link) => !link.startsWith("../")).toSorted(),
    pages.filter((name) => name !== "README.md").toSorted(),
  );
});

Deno.test("filesOf() returns paths in code spans without patterns", () => {
  const text = "`src/a/b.ts` `c.ts` `tests/cli/` `wire/*.ts` `~/x/y.ts` src/d/e.ts `d/`";
  assert.deepEqual(filesOf(text), ["src/a/b.ts", "tests/cli/"]);
});

Deno.test("linksOf() ignores other sites and code", () => {
  const text = "[a](b.md) [c](https://d.example) `[e](f.md)`\n\n```text\n[g](h.md)\n```\n[i](#j)\n";
  assert.deepEqual(linksOf(text), ["b.md", "#j"]);
});

Deno.test("anchorOf() returns the anchor of a heading", () => {
  assert.equal(anchorOf("`a`: It works, b c!"), "a-it-works-b-c");
});

function linksOf(text: string): string[] {
  const prose = text.replace(/^```.*?^```$/gms, "").replace(/`[^`\n]*`/g, "");
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link)
    .filter((link) => !/^[a-z]+:/.test(link));
}

/** Returns paths of files and folders in code spans. */
function filesOf(text: string): string[] {
  const prose = text.replace(/^```.*?^```$/gms, "");
  const paths = [...prose.matchAll(/`([a-z][a-z0-9_./]*)`/g)].map(([, path = ""]) => path);
  return paths.filter((path) =>
    path.includes("/") && (path.endsWith(".ts") || /^(src|tests|scripts)\/.*\/$/.test(path))
  );
}

async function leadsSomewhere(target: URL): Promise<boolean> {
  const { hash } = target;
  const file = new URL(target);
  file.hash = "";
  try {
    if ((await Deno.stat(file)).isDirectory) return hash === "";
    if (hash === "") return true;
    const headings = (await Deno.readTextFile(file)).matchAll(/^#+ (.+)$/gm);
    return [...headings].some(([, heading = ""]) => `#${anchorOf(heading)}` === hash);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

function anchorOf(heading: string): string {
  return heading.toLowerCase().replace(/[^\w\s-]/g, "").replaceAll(" ", "-");
}

async function* documents(): AsyncGenerator<string> {
  for (const folder of ["", "docs/", "docs/guide/", "docs/reference/", "docs/decisions/", "tests/"]) {
    for await (const { name, isFile } of Deno.readDir(new URL(folder, root))) {
      if (isFile && name.endsWith(".md")) yield `${folder}${name}`;
    }
  }
}
