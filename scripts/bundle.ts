/** Optional native parts of ssh2: it tries them, and goes on without. */
const nativeParts = ["cpu-features", "./crypto/build/Release/sshcrypto.node"];

/** The first file of a bundle. */
export const bundleEntry = "main.js";

/** Writes the program as JavaScript, each dynamic import its own chunk, and gives the names of the files. */
export async function bundleProgram(directory: string, { isFrozen = false } = {}): Promise<string[]> {
  const main = decodeURIComponent(new URL("../main.ts", import.meta.url).pathname);
  await runDeno([
    "bundle",
    "--quiet",
    "--code-splitting",
    ...isFrozen ? ["--frozen"] : [],
    ...nativeParts.flatMap((part) => ["--external", part]),
    "--outdir",
    directory,
    main,
  ]);
  const names: string[] = [];
  for await (const { name } of Deno.readDir(directory)) names.push(name);
  return names.sort();
}

/** Runs Deno to its end and gives what it said; a failure tells the rest. */
export async function runDeno(args: readonly string[]): Promise<string> {
  const command = new Deno.Command(Deno.execPath(), {
    args: [...args],
    stdin: "null",
    env: { NO_COLOR: "1" },
  });
  const { success, stdout, stderr } = await command.output();
  if (success) return new TextDecoder().decode(stdout);
  throw new Error(`Cannot run deno ${args[0]}: ${new TextDecoder().decode(stderr).trim()}`);
}
