import { overview } from "../src/cli/line/command_line.ts";
import { commandGroups } from "../src/cli/line/all_commands.ts";
import { madeOf, table } from "./reference_page.ts";

const width = 100;

/** What each exit code means. */
export const exits: readonly (readonly string[])[] = [
  ["0", "done"],
  ["1", "failed"],
  ["2", "wrong usage"],
  ["3", "no running instance"],
  ["4", "the configuration is wrong"],
  ["5", "not signed in, or refused"],
  ["6", "cannot reach: network, name, proxy, target"],
  ["7", "`doctor` found a failure"],
  ["125", "a command that runs another program failed before it started"],
  ["126, 127", "that program cannot be run; it is missing"],
  ["130", "interrupted"],
];

/** The page of the command line: what `--help` says, command by command. */
export function cliPage(): string {
  const commands = commandGroups.flatMap((group) => group.commands);
  const sections = commands.map((command) => `## postern ${command.name}\n\n${block(command.help(width))}`);
  return [
    madeOf("the commands' own help"),
    "# The command line",
    "What is meant for programs goes to stdout, what is meant for people to stderr.",
    block(overview(commandGroups, width)),
    "## Exit codes",
    table(["exit", "means"], exits),
    ...sections,
  ].join("\n\n") + "\n";
}

function block(text: string): string {
  return `\`\`\`text\n${text.trimEnd()}\n\`\`\``;
}
