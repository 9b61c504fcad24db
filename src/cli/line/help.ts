import { object } from "@optique/core/constructs";
import { multiple } from "@optique/core/modifiers";
import { argument } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import { type Command, defineCommand } from "./command.ts";
import { type CommandGroup, compatPage, find, overview } from "./command_line.ts";
import { words } from "./options.ts";

/** `postern help [COMMAND]`. `groups` is a function because `help` is itself one of the commands. */
export function helpCommand(groups: () => readonly CommandGroup[]): Command {
  return defineCommand({
    name: "help",
    summary: "Show help for postern or one command",
    description: "postern help COMMAND and postern COMMAND --help print the same page. " +
      "postern help compat lists the commands that exist for users of kharon and kubevpn.",
    examples: [
      ["postern help proxy", "Show the options of proxy"],
      ["postern help config check", "Show the options of config check"],
      ["postern help compat", "List the spellings of kharon and kubevpn"],
    ],
    parser: object({
      about: multiple(
        argument(string({ metavar: "COMMAND" }), { description: words("Command to describe, or compat.") }),
        { max: 2 },
      ),
    }),
    async run({ about: [name, ...more] }, { terminal }) {
      const width = Math.max(40, terminal.columns);
      await terminal.out(pageOf(name, more, width));
    },
  });

  function pageOf(name: string | undefined, more: readonly string[], width: number): string {
    if (name === undefined) return overview(groups(), width);
    return name === "compat" ? compatPage(groups(), width) : find(groups(), name).help(width, more);
  }
}
