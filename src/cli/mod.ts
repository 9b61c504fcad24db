import type { CommandLine } from "../permissions/mod.ts";
import type { World } from "../world/mod.ts";
import { kubectl, oc, shell } from "./clusters/cluster_programs.ts";
import clusters from "./clusters/clusters.ts";
import type { CommandContext } from "./line/command.ts";
import { type CommandGroup, runCommandLine } from "./line/command_line.ts";
import execCredential from "./clusters/exec_credential.ts";

/** Commands that run many times a day: they start without loading the others. */
const quickCommands: CommandGroup = {
  title: "Clusters",
  commands: [clusters, shell.alone, kubectl.alone, oc.alone, execCredential],
};

/** Runs one command line and returns the exit code. */
export async function run(line: CommandLine, world: World, context: CommandContext): Promise<number> {
  const isQuick = quickCommands.commands.some(({ name }) => name === line.name);
  const groups = isQuick ? [quickCommands] : (await import("./line/all_commands.ts")).commandGroups;
  return await runCommandLine(line, world, { ...context, groups });
}
