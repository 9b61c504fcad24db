import { copyTree } from "./copy_tree.ts";
import { compiledFlags } from "../src/permissions/flags.ts";
import { runtimeFlags } from "../src/permissions/runtime_flags.ts";

/** Optional native parts of ssh2, which works without them. */
const nativeParts = ["cpu-features", "./crypto/build/Release/sshcrypto.node"];

/** The input of a bundle. */
const sources = ["main.ts", "deno.json", "deno.lock", "src", "scripts"];

/** The entry file of a bundle. */
export const bundleEntry = "main.js";

/** The flags of a bundle, compiled or not: no downloads, and the permissions of all commands. */
export function bundleFlags(): string[] {
  return [
    ...[
      "--quiet",
      "--no-npm",
      "--no-config",
      "--no-lock",
      "--unstable-kv",
      "--unstable-worker-options",
      "--no-code-cache",
    ],
    ...runtimeFlags,
    ...compiledFlags(),
  ];
}

/**
 * The start of a bundle: it loads twenty files of node's library for a `require` that most commands never
 * call.
 */
const eagerRequire = `import { createRequire as __deno_internal_createRequire } from "node:module";
var __require = __deno_internal_createRequire(import.meta.url);
`;

/**
 * Loads a part of node when code requires it, and `process` and `buffer` when code reads a property: the YAML
 * library requires both while it loads, and then reads an environment variable. It finds none, because
 * `main.ts` has dropped the permission `env`.
 */
const lazyRequire = `const __part = (name) => {
  const part = process.getBuiltinModule(name);
  if (part) return part;
  throw new Error(\`Cannot find module "\${name}"\`);
};
const __later = (name, known = {}) => new Proxy(known, {
  get: (_, key) => key in known ? known[key] : __part(name)[key],
  has: (_, key) => key in __part(name),
  ownKeys: () => Reflect.ownKeys(__part(name)),
  getOwnPropertyDescriptor(_, key) {
    const found = Reflect.getOwnPropertyDescriptor(__part(name), key);
    return found && { ...found, configurable: true };
  },
});
const __asked = { "node:process": __later("node:process", { env: {} }), "node:buffer": __later("node:buffer") };
var __require = (name) => __asked[name] ?? __part(name);
`;

/**
 * Writes the program as JavaScript, one chunk for each dynamic import, and returns the file names. A bundle
 * contains the paths of its modules and derives file names from them. So this builds from a copy that
 * includes the packages: the result does not depend on the directories of the project and of Deno's cache.
 */
export async function bundleProgram(directory: string, { isFrozen = false } = {}): Promise<string[]> {
  const root = decodeURIComponent(new URL("../", import.meta.url).pathname);
  const copy = await Deno.makeTempDir({ prefix: "postern-bundle-" });
  try {
    for (const name of sources) await copyTree(`${root}${name}`, `${copy}/${name}`);
    const args = [
      ...["bundle", "--quiet", "--code-splitting", "--node-modules-dir=auto"],
      ...isFrozen ? ["--frozen"] : [],
      ...nativeParts.flatMap((part) => ["--external", part]),
      ...["--outdir", directory, "main.ts"],
    ];
    await runDeno(args, { cwd: copy });
  } finally {
    await Deno.remove(copy, { recursive: true });
  }
  const names: string[] = [];
  for await (const { name } of Deno.readDir(directory)) names.push(name);
  const paths = names.map((name) => `${directory}/${name}`);
  await replaceOnce(paths, eagerRequire, lazyRequire);
  await hideImports(paths);
  return names.sort();
}

/**
 * Hides the chunks of dynamic imports from Deno, which otherwise reads and analyzes all of them before it runs the
 * first line: 10 ms at each start. A compiled program includes them by name.
 */
async function hideImports(paths: readonly string[]): Promise<void> {
  let count = 0;
  for (const path of paths) {
    const text = await Deno.readTextFile(path);
    const hidden = text.replace(/\bimport\(("\.\/[^"\n]+\.js")\)/g, (_, chunk: string) => {
      count++;
      return `import([${chunk}][0])`;
    });
    if (hidden !== text) await Deno.writeTextFile(path, hidden);
  }
  if (count === 0) throw new Error("Cannot patch the bundle: found no dynamic import");
}

/** Replaces a text that occurs exactly once in all files. */
async function replaceOnce(paths: readonly string[], text: string, replacement: string): Promise<void> {
  let count = 0;
  for (const path of paths) {
    const parts = (await Deno.readTextFile(path)).split(text);
    count += parts.length - 1;
    if (parts.length === 2) await Deno.writeTextFile(path, parts.join(replacement));
  }
  if (count !== 1) {
    throw new Error(`Cannot patch the bundle: expected one occurrence, found ${count}: ${text}`);
  }
}

/** Runs Deno and returns its output; an error contains stderr. */
export async function runDeno(
  args: readonly string[],
  { cwd }: { readonly cwd?: string } = {},
): Promise<string> {
  const command = new Deno.Command(Deno.execPath(), {
    args: [...args],
    ...cwd !== undefined && { cwd },
    stdin: "null",
    env: { NO_COLOR: "1" },
  });
  const { success, stdout, stderr } = await command.output();
  if (success) return new TextDecoder().decode(stdout);
  throw new Error(`Cannot run deno ${args[0]}: ${new TextDecoder().decode(stderr).trim()}`);
}
