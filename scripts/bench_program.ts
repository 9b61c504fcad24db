import { bundleEntry, bundleFlags, bundleProgram } from "./bundle.ts";
import { fetchRuntime } from "./denort.ts";

/** The program that is measured, and one made in the same way that does nothing. */
export interface BenchProgram {
  readonly path: string;
  /** Made when it is asked for. */
  readonly empty: () => Promise<string>;
}

/**
 * POSTERN_BIN where that is set. Else the bundle that a release is compiled of, run by the Deno at hand: of a release
 * it lacks only that it is one file.
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

/** A program that is started as one file, with the flags of what is compiled. */
async function writeLauncher(path: string, script: string): Promise<string> {
  const words = [Deno.execPath(), "run", ...bundleFlags(), script].map(quoted);
  await Deno.writeTextFile(path, `#!/bin/sh\nexec ${words.join(" ")} "$@"\n`, { mode: 0o755 });
  return path;
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** With the runtime that `deno task compile --runtime` takes: any package registry has it. */
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
