import type { CommandLine } from "../../permissions/mod.ts";
import type { World } from "../../world/mod.ts";
import { kubectl, oc, shell } from "../clusters/cluster_programs.ts";
import clusters from "../clusters/clusters.ts";
import execCredential from "../clusters/exec_credential.ts";
import nc from "../instance/nc.ts";
import type { CommandContext } from "./command.ts";
import { type CommandGroup, runCommandLine } from "./command_line.ts";

/** Commands that run many times a day: they start without loading the others. */
const quickCommands: CommandGroup = {
  title: "Clusters",
  commands: [clusters, shell.alone, kubectl.alone, oc.alone, execCredential, nc],
};

/** Runs one command line with its parser and returns the exit code. */
export async function runLine(line: CommandLine, world: World, context: CommandContext): Promise<number> {
  const isQuick = quickCommands.commands.some(({ name }) => name === line.name);
  const groups = isQuick ? [quickCommands] : (await import("./all_commands.ts")).commandGroups;
  return await runCommandLine(line, world, { ...context, groups });
}
