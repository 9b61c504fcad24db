import type { CommandLine } from "../permissions/mod.ts";
import type { World } from "../world/mod.ts";
import { kubectl, oc, shell } from "./clusters/cluster_programs.ts";
import clusters from "./clusters/clusters.ts";
import type { Context } from "./line/command.ts";
import { type CommandGroup, runCommandLine } from "./line/command_line.ts";
import execCredential from "./clusters/exec_credential.ts";

/** What stands in the place of another program many times a day: it waits for the making of no other command. */
const quickCommands: CommandGroup = {
  title: "Clusters",
  commands: [clusters, shell.alone, kubectl.alone, oc.alone, execCredential],
};

/** Runs one command line to its end; the answer is the exit code. */
export async function run(line: CommandLine, world: World, context: Context): Promise<number> {
  const isQuick = quickCommands.commands.some(({ name }) => name === line.name);
  const groups = isQuick ? [quickCommands] : (await import("./line/all_commands.ts")).commandGroups;
  return await runCommandLine(line, world, { ...context, groups });
}
