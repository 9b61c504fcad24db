import { object } from "@optique/core/constructs";
import { multiple } from "@optique/core/modifiers";
import { argument } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import { type Command, defineCommand } from "./command.ts";
import { type CommandGroup, find, overview } from "./command_line.ts";
import { words } from "./options.ts";

/** `postern help [COMMAND]`; it asks for the commands when it runs, being one of them. */
export function helpCommand(groups: () => readonly CommandGroup[]): Command {
  return defineCommand({
    name: "help",
    summary: "shows this page, or all about one command",
    description: "postern COMMAND --help shows the same page as postern help COMMAND.",
    examples: [["postern help proxy", "shows the options of proxy"]],
    parser: object({
      about: multiple(
        argument(string({ metavar: "COMMAND" }), { description: words("What to tell about.") }),
        { max: 2 },
      ),
    }),
    async run({ about: [name, ...more] }, { terminal }) {
      const width = Math.max(40, terminal.columns);
      await terminal.out(
        name === undefined ? overview(groups(), width) : find(groups(), name).help(width, more),
      );
    },
  });
}
