import assert from "node:assert/strict";
import { runDeno } from "../../../scripts/bundle.ts";

// The modules loaded at the start determine the start-up time; each new one is a decision.

interface Module {
  readonly specifier: string;
  readonly dependencies?: readonly Dependency[];
}

interface Dependency {
  readonly isDynamic?: boolean;
  readonly code?: { readonly specifier: string };
}

const root = new URL("../../../", import.meta.url);
const graph = new Map<string, Module>();

Deno.test("main.ts loads only deno.json for `postern version`", async () => {
  const modules = await loadedWith("main.ts");
  assert.deepEqual(modules, ["deno.json", "main.ts"]);
});

const rooms = [
  { entry: "src/runtime/mod.ts", foreign: [] },
  { entry: "src/cli/mod.ts", foreign: [] },
  { entry: "src/cli/line/run_line.ts", foreign: ["@optique/core"] },
  { entry: "src/cli/instance/plain_nc.ts", foreign: [] },
  { entry: "src/instance/mod.ts", foreign: [] },
];

for (const { entry, foreign } of rooms) {
  Deno.test(`${entry} loads at the start these packages: ${foreign.join(" ") || "nothing"}`, async () => {
    const packages = (await loadedWith(entry)).filter((module) => /^(?:npm|node|jsr|https?):/.test(module))
      .map((module) => module.replace(/^npm:\/?((?:@[^/]+\/)?[^/@]+).*$/, "$1"));
    assert.deepEqual([...new Set(packages)], foreign);
  });
}

Deno.test("src/instance/mod.ts loads no command, and a command no instance", async () => {
  assert.deepEqual(
    (await loadedWith("src/instance/mod.ts")).filter((module) => module.startsWith("src/cli/")),
    [],
  );
  for (const entry of ["src/cli/line/run_line.ts", "src/cli/instance/plain_nc.ts"]) {
    const modules = await loadedWith(entry);
    assert.deepEqual(
      modules.filter((module) => /^src\/(?:plan|instance|demo|transports|listeners)\//.test(module)),
      [],
    );
  }
});

Deno.test("`postern nc` with an instance loads no parser of the command line", async () => {
  const rooms = (await loadedWith("src/cli/instance/plain_nc.ts")).map((module) =>
    /^src\/([a-z]+)\//.exec(module)?.[1]
  );
  assert.deepEqual([...new Set(rooms)].sort(), [
    ...["cli", "config", "control", "core", "http", "permissions", "wire", "words", "world"],
  ]);
});

/** Returns a module's static imports, without dynamic ones. */
async function loadedWith(entry: string): Promise<string[]> {
  if (graph.size === 0) {
    const { modules }: { modules: readonly Module[] } = JSON.parse(
      await runDeno(["info", "--json", new URL("main.ts", root).href]),
    );
    for (const module of modules) graph.set(module.specifier, module);
  }
  const loaded = new Set([new URL(entry, root).href]);
  assert.ok([...loaded].every((first) => graph.has(first)), `${entry} is not part of the program`);
  for (const specifier of loaded) {
    for (const { isDynamic, code } of graph.get(specifier)?.dependencies ?? []) {
      if (code && !isDynamic) loaded.add(code.specifier);
    }
  }
  return [...loaded].map((specifier) => specifier.replace(root.href, "")).sort();
}
