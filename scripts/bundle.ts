import { copyTree } from "./copy_tree.ts";
import { compiledFlags } from "../src/permissions/flags.ts";
import { runtimeFlags } from "../src/permissions/runtime_flags.ts";

/** Optional native parts of ssh2: it tries them, and goes on without. */
const nativeParts = ["cpu-features", "./crypto/build/Release/sshcrypto.node"];

/** What a bundle is made of. */
const sources = ["main.ts", "deno.json", "deno.lock", "src", "scripts"];

/** The first file of a bundle. */
export const bundleEntry = "main.js";

/** How the bundle runs, compiled or not: it has all that it needs, and the permissions of all commands. */
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

/** How a bundle begins: this loads twenty files of node's world for a `require` that most commands never call. */
const eagerRequire = `import { createRequire as __deno_internal_createRequire } from "node:module";
var __require = __deno_internal_createRequire(import.meta.url);
`;

/**
 * Takes a part of node when it is asked for, and these two when something of them is: the YAML library asks for both
 * while it loads, and of `process` then wants to know a variable of the environment. It finds none: `main.ts` has given
 * up the right to read it.
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
 * Writes the program as JavaScript, each dynamic import its own chunk, and gives the names of the files. A bundle tells
 * where each module was, and names its files by that too: so it is made of a copy, with the packages inside, and is the
 * same wherever the project and the cache of Deno are.
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
  await replaceOnce(names.map((name) => `${directory}/${name}`), eagerRequire, lazyRequire);
  return names.sort();
}

/** Replaces a text that stands in exactly one of the files. */
async function replaceOnce(paths: readonly string[], text: string, replacement: string): Promise<void> {
  let count = 0;
  for (const path of paths) {
    const parts = (await Deno.readTextFile(path)).split(text);
    count += parts.length - 1;
    if (parts.length === 2) await Deno.writeTextFile(path, parts.join(replacement));
  }
  if (count !== 1) throw new Error(`Cannot go on with a bundle that has ${count} times: ${text}`);
}

/** Runs Deno to its end and gives what it said; a failure tells the rest. */
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
