import { compatPage, overview } from "../src/cli/line/command_line.ts";
import { commandGroups } from "../src/cli/line/all_commands.ts";
import { madeOf, table } from "./reference_page.ts";

const width = 100;

/** The meaning of each exit code. */
export const exits: readonly (readonly string[])[] = [
  ["0", "done"],
  ["1", "failed"],
  ["2", "invalid command line"],
  ["3", "no running instance"],
  ["4", "invalid configuration"],
  ["5", "not signed in, or access denied"],
  ["6", "cannot reach the network, name, proxy or target"],
  ["7", "`doctor`, `test` or `egress` found a problem"],
  ["125", "postern failed before it started another program"],
  ["126", "the other program cannot be run"],
  ["127", "the other program is missing"],
  ["130", "interrupted"],
];

/** The page of the command line: the help of every command. */
export function cliPage(): string {
  const commands = commandGroups.flatMap((group) => group.commands);
  const sections = commands.map((command) => `## postern ${command.name}\n\n${block(command.help(width))}`);
  return [
    madeOf("the commands' own help"),
    "# The command line",
    "postern writes results to stdout, and messages to stderr.",
    block(overview(commandGroups, width)),
    "## Compatibility\n\n`postern help compat` prints:",
    block(compatPage(commandGroups, width)),
    "## Exit codes",
    table(["exit", "means"], exits),
    ...sections,
  ].join("\n\n") + "\n";
}

function block(text: string): string {
  return `\`\`\`text\n${text.trimEnd()}\n\`\`\``;
}
