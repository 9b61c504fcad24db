import assert from "node:assert/strict";
import plugin, { rooms } from "../../../scripts/lint_rooms.ts";

const allowAll = ["--allow", "all"].join("-");

const faults = [
  { name: "core imports wire", file: "src/core/x.ts", source: `import { a } from "../wire/mod.ts";` },
  {
    name: "wire imports config",
    file: "src/wire/x.ts",
    source: `import type { A } from "../config/mod.ts";`,
  },
  {
    name: "routing imports instance",
    file: "src/routing/x.ts",
    source: `export * from "../instance/mod.ts";`,
  },
  { name: "listeners import routing", file: "src/listeners/x.ts", source: `import "../routing/mod.ts";` },
  { name: "instance imports cli", file: "src/instance/x.ts", source: `await import("../cli/mod.ts");` },
  { name: "config imports wire", file: "src/config/x.ts", source: `export { a } from "../wire/mod.ts";` },
  { name: "http imports a transport", file: "src/http/x.ts", source: `import "../transports/mod.ts";` },
  { name: "demo imports cli", file: "src/demo/x.ts", source: `import "../cli/mod.ts";` },
  { name: "a type by import()", file: "src/wire/x.ts", source: `type A = import("../instance/mod.ts").A;` },
  { name: "a file of another room", file: "src/instance/x.ts", source: `import "../core/log.ts";` },
  { name: "the mod.ts of the same room", file: "src/core/x.ts", source: `import "./mod.ts";` },
  { name: "a folder below", file: "src/http/deep/x.ts", source: `import "../../mux/mod.ts";` },
  { name: "an unknown room", file: "src/cli/x.ts", source: `import "../utils/mod.ts";` },
  { name: "tests", file: "src/core/x.ts", source: `import "../../tests/support/fake_clock.ts";` },
  { name: "scripts", file: "src/cli/x.ts", source: `import "../../scripts/test.ts";` },
  { name: "main imports instance", file: "main.ts", source: `import "./src/instance/mod.ts";` },
  { name: "main imports permissions", file: "main.ts", source: `import "./src/permissions/mod.ts";` },
  { name: "main imports another script", file: "main.ts", source: `import "./scripts/test.ts";` },
  { name: "a mod.ts that exports everything", file: "src/core/mod.ts", source: `export * from "./y.ts";` },
  { name: "a room under a name", file: "src/core/mod.ts", source: `export * as y from "./y.ts";` },
  { name: "wire under a name", file: "src/wire/mod.ts", source: `export * as y from "./y.ts";` },
  { name: "a file that exports everything", file: "src/kube/x.ts", source: `export * from "./y.ts";` },
  { name: "node:net", file: "src/runtime/x.ts", source: `import net from "node:net";` },
  { name: "node:http2", file: "src/wire/x.ts", source: `import "node:http2";` },
  { name: "node:fs", file: "src/config/x.ts", source: `import fs from "node:fs";` },
  { name: "Deno.readFile", file: "src/cli/x.ts", source: `Deno.readFile("x");` },
  { name: "Deno as a value", file: "src/instance/x.ts", source: `const { env } = Deno; env;` },
  { name: "a Deno type", file: "src/core/x.ts", source: `type C = Deno.Conn;` },
  { name: "fetch", file: "src/runtime/x.ts", source: `await fetch("http://x");` },
  { name: "globalThis.fetch", file: "src/instance/x.ts", source: `await globalThis.fetch("http://x");` },
  { name: "Deno.serve", file: "src/runtime/x.ts", source: `Deno.serve(() => new Response());` },
  { name: "WebSocket", file: "src/runtime/x.ts", source: `new WebSocket("ws://x");` },
  { name: "all permissions", file: "scripts/x.ts", source: `const flags = ["${allowAll}"]; flags;` },
  { name: "all permissions, short", file: "tests/x.ts", source: `const flags = ["-${"A"}"]; flags;` },
  {
    name: "all permissions in a template",
    file: "scripts/x.ts",
    source: "const f = `run " + allowAll + "`; f;",
  },
  { name: "fetch in clusters", file: "src/clusters/x.ts", source: `await fetch("http://x");` },
  { name: "node:http in clusters", file: "src/clusters/x.ts", source: `import { get } from "node:http";` },
];

for (const { name, file, source } of faults) {
  Deno.test(`rooms reports ${name}`, () => {
    assert.notDeepEqual(messages(file, source), []);
  });
}

const sound = [
  { name: "core from wire", file: "src/wire/x.ts", source: `import { a } from "../core/mod.ts";` },
  { name: "a file of the same room", file: "src/wire/x.ts", source: `import { a } from "./y.ts";` },
  {
    name: "a mod.ts that exports a file of its room",
    file: "src/wire/mod.ts",
    source: `export { a } from "./y.ts";`,
  },
  { name: "demo from cli, when needed", file: "src/cli/x.ts", source: `await import("../demo/mod.ts");` },
  { name: "a package", file: "src/config/x.ts", source: `import { parse } from "yaml";` },
  { name: "a package under a name", file: "src/signin/x.ts", source: `export * as y from "yaml";` },
  { name: "node:stream", file: "src/core/x.ts", source: `import { Duplex } from "node:stream";` },
  { name: "node:dns in runtime", file: "src/runtime/x.ts", source: `import dns from "node:dns";` },
  { name: "Deno.* in runtime", file: "src/runtime/x.ts", source: `Deno.connect({ port: 1 });` },
  { name: "Deno.* in main.ts", file: "main.ts", source: `Deno.exit(1);` },
  { name: "start in main.ts", file: "main.ts", source: `await import("./src/start/mod.ts");` },
  { name: "permissions in start", file: "src/start/x.ts", source: `import "../permissions/mod.ts";` },
  { name: "a method called fetch", file: "src/instance/x.ts", source: `await catalogue.fetch("x");` },
  { name: "a test that imports a file", file: "tests/unit/x.ts", source: `import "../../src/core/log.ts";` },
  { name: "named permissions", file: "scripts/x.ts", source: `const flags = ["--allow-net"]; flags;` },
];

for (const { name, file, source } of sound) {
  Deno.test(`rooms accepts ${name}`, () => {
    assert.deepEqual(messages(file, source), []);
  });
}

Deno.test("rooms lists the allowed rooms in its message", () => {
  assert.deepEqual(messages("src/wire/x.ts", `import "../instance/mod.ts";`), [
    `Cannot import room "instance" from "wire": allowed are words, core`,
  ]);
});

Deno.test("rooms has no circle: every room follows its imports", () => {
  const built = new Set<string>();
  for (let size = -1; size !== built.size;) {
    size = built.size;
    for (const [room, imports] of Object.entries(rooms)) {
      if (imports.every((needed) => built.has(needed))) built.add(room);
    }
  }
  assert.deepEqual([...built].sort(), Object.keys(rooms).sort());
});

function messages(file: string, source: string): string[] {
  const path = new URL(`../../../${file}`, import.meta.url).pathname;
  return Deno.lint.runPlugin(plugin, path, source).map((found) => found.message);
}

Deno.test("no file of the project allows everything", async () => {
  const found: string[] = [];
  for await (const path of textFiles(new URL("../../../", import.meta.url))) {
    if ((await Deno.readTextFile(path)).includes(allowAll)) found.push(path.pathname);
  }
  assert.deepEqual(found, []);
});

async function* textFiles(directory: URL): AsyncGenerator<URL> {
  for await (const entry of Deno.readDir(directory)) {
    if ([".git", "dist", "node_modules"].includes(entry.name)) continue;
    const path = new URL(encodeURIComponent(entry.name) + (entry.isDirectory ? "/" : ""), directory);
    if (entry.isDirectory) yield* textFiles(path);
    else if (entry.isFile) yield path;
  }
}
