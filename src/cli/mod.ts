import type { CommandLine } from "../permissions/mod.ts";
import type { World } from "../world/mod.ts";
import type { CommandContext } from "./line/command.ts";

/** Runs one command line and returns the exit code. */
export async function run(line: CommandLine, world: World, context: CommandContext): Promise<number> {
  const { runLine } = await import("./line/run_line.ts");
  return await runLine(line, world, context);
}

/** `postern nc` through a running instance: without the parser, and without the modules for a run without one. */
export type PlainNc = (line: CommandLine, world: World) => Promise<number | undefined>;

/** Loads `postern nc` through a running instance. Its answer is undefined if `run` has to run the line. */
export async function loadNc(): Promise<PlainNc> {
  return (await import("./instance/plain_nc.ts")).runPlainNc;
}
