import type { Household } from "./postern_process.ts";

/** Writes a program named `postern` that runs the program under test with the permissions of `nc`; returns its path. */
export async function ncProgram(home: Household): Promise<string> {
  const { command, env } = home.commandLine(["nc"]);
  const path = `${home.directory}/bin/postern`;
  await Deno.mkdir(`${home.directory}/bin`);
  const quoted = (word: string) => `'${word.replaceAll("'", String.raw`'\''`)}'`;
  const set = Object.entries(env).filter(([name]) => name !== "PATH").map(([name, value]) =>
    `export ${name}=${quoted(value)}`
  );
  // The last word is the command, which the caller gives.
  const words = command.slice(0, -1).map(quoted).join(" ");
  await Deno.writeTextFile(path, `#!/bin/sh\n${set.join("\n")}\nexec ${words} "$@"\n`, { mode: 0o755 });
  return path;
}
