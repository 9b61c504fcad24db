import { bundleEntry, bundleFlags, bundleProgram } from "./bundle.ts";
import { fetchRuntime } from "./denort.ts";

/** The measured program, and an empty program built in the same way. */
export interface BenchProgram {
  readonly path: string;
  /** Builds the empty program. */
  readonly empty: () => Promise<string>;
}

/**
 * Returns `POSTERN_BIN` if it is set. Otherwise builds the bundle of a release and runs it with the installed
 * Deno; only the compilation into one file is missing.
 */
export async function benchProgram(directory: string): Promise<BenchProgram> {
  const source = `${directory}/empty.js`;
  await Deno.writeTextFile(source, "");
  const compiled = Deno.env.get("POSTERN_BIN");
  if (compiled) return { path: compiled, empty: () => compileEmpty(source) };
  const bundle = `${directory}/bundle`;
  await bundleProgram(bundle);
  return {
    path: await writeLauncher(`${directory}/postern`, `${bundle}/${bundleEntry}`),
    empty: () => writeLauncher(`${directory}/empty`, source),
  };
}

/** Writes an executable file that runs a script with the flags of a compiled program. */
async function writeLauncher(path: string, script: string): Promise<string> {
  const words = [Deno.execPath(), "run", ...bundleFlags(), script].map(quoted);
  await Deno.writeTextFile(path, `#!/bin/sh\nexec ${words.join(" ")} "$@"\n`, { mode: 0o755 });
  return path;
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** Compiles with the runtime of `deno task compile --runtime`, which package registries have. */
async function compileEmpty(source: string): Promise<string> {
  const output = source.replace(/\.js$/, "");
  const { compiler, denort } = await fetchRuntime("linux-x64");
  const { success, stderr } = await new Deno.Command(compiler, {
    args: ["compile", "--quiet", "--no-check", "--no-config", "--output", output, source],
    env: { DENORT_BIN: denort },
    stdin: "null",
  }).output();
  if (success) return output;
  throw new Error(`Cannot compile an empty program: ${new TextDecoder().decode(stderr).trim()}`);
}
