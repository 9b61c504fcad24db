import assert from "node:assert/strict";
import { sourceTexts } from "../../support/source_texts.ts";
import { runDeno } from "../../../scripts/bundle.ts";
import { mostExports, rooms, usualExports } from "../../../scripts/lint_rooms.ts";

const root = new URL("../../../", import.meta.url);

interface Module {
  readonly specifier: string;
  readonly dependencies?: readonly {
    readonly specifier: string;
    readonly isDynamic?: boolean;
    readonly code?: { readonly specifier?: string };
  }[];
}

Deno.test("no room exports too many names, including types", async (t) => {
  const files = Object.keys(rooms).map((room) => new URL(`src/${room}/mod.ts`, root).href);
  const { nodes }: {
    nodes: Readonly<Record<string, { readonly symbols: readonly { readonly name: string }[] }>>;
  } = JSON.parse(await runDeno(["doc", "--json", ...files]));
  for (const room of Object.keys(rooms)) {
    await t.step(room, () => {
      const { symbols } = nodes[new URL(`src/${room}/mod.ts`, root).href] ?? { symbols: [] };
      assert.ok(symbols.length > 0, "deno doc prints no names");
      const most = mostExports[room] ?? usualExports;
      assert.ok(
        symbols.length <= most,
        `${symbols.length} names, at most ${most}: does it combine two ideas?`,
      );
    });
  }
});

Deno.test("imports of values between files form no circle", async () => {
  const { modules }: { modules: readonly Module[] } = JSON.parse(
    await runDeno(["info", "--json", new URL("main.ts", root).href]),
  );
  const imports = new Map(modules.map(({ specifier, dependencies = [] }) => [
    specifier,
    dependencies.flatMap(({ code, isDynamic }) => !isDynamic && code?.specifier ? [code.specifier] : []),
  ]));
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, above: readonly string[]): void => {
    const at = above.indexOf(file);
    if (at >= 0) {
      circles.push([...above.slice(at), file].map((path) => path.replace(root.href, "")).join(" > "));
    }
    if (at >= 0 || done.has(file) || !file.startsWith(root.href)) return;
    for (const next of imports.get(file) ?? []) visit(next, [...above, file]);
    done.add(file);
  };
  for (const file of imports.keys()) visit(file, []);
  assert.ok(imports.size > 500);
  assert.deepEqual(circles, []);
});

Deno.test("one file declares each exported name", async () => {
  const files = new Map<string, string[]>();
  for await (const [path, text] of sourceTexts("src")) {
    const declared = text.matchAll(
      /^export (?:abstract |async |declare )*(?:function\*?|class|interface|type|const|let) (\w+)/gm,
    );
    for (const name of new Set(Array.from(declared, ([, name = ""]) => name))) {
      files.set(name, [...files.get(name) ?? [], path]);
    }
  }
  assert.ok(files.size > 1500);
  assert.deepEqual([...files].filter(([, paths]) => paths.length > 1), []);
});
