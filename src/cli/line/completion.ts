import { object } from "@optique/core/constructs";
import { argument } from "@optique/core/primitives";
import { type Suggestion, suggestSync } from "@optique/core/parser";
import {} from "@optique/core/valueparser";
import { PosternError } from "../../words/mod.ts";
import { parsedWords, readCommandLine } from "../../permissions/mod.ts";
import type { World } from "../../world/mod.ts";
import { type Command, defineCommand } from "./command.ts";
import type { CommandGroup } from "./command_line.ts";
import { globalOptions } from "./global_options.ts";
import { oneOf, words } from "./options.ts";

const shells = ["bash", "zsh", "fish", "powershell", "pwsh", "nu"] as const;

/** `postern completion SHELL`: prints the script for a shell, and answers that script at every Tab. */
export function completionCommand(groups: () => readonly CommandGroup[]): Command {
  const printsScript = defineCommand({
    name: "completion",
    summary: "Print a shell completion script",
    description:
      "Supports bash, zsh, fish, powershell (or pwsh) and nu. The script asks postern at every Tab, so it " +
      "still works after an upgrade.",
    examples: [
      ['eval "$(postern completion bash)"', "In ~/.bashrc"],
      ['eval "$(postern completion zsh)"', "In ~/.zshrc, after compinit"],
      ["postern completion fish | source", "In ~/.config/fish/config.fish"],
      ["postern completion powershell | Out-String | Invoke-Expression", "In $PROFILE"],
      ["postern completion nu | save -f postern.nu; source postern.nu", "In Nushell"],
    ],
    parser: object({
      shell: argument(oneOf(shells, "SHELL"), {
        description: words(`Shell: ${shells.join(", ")}.`),
      }),
    }),
    async run({ shell }, { terminal }) {
      await terminal.out(await completionScript(shell));
    },
  });
  return {
    ...printsScript,
    async start(args, world, context) {
      const [shell = "", dashes, ...typed] = args;
      if (dashes !== "--") return await printsScript.start(args, world, context);
      await suggest(shell, typed, world, groups());
      return 0;
    },
  };
}

/** The completion script of a shell; packages contain it too. */
export async function completionScript(shell: (typeof shells)[number]): Promise<string> {
  const script = (await completionOf(shell)).generateScript("postern", ["completion", shell]);
  return script.endsWith("\n") ? script : `${script}\n`;
}

/** Prints the suggestions for the last word of `typed`, which may be incomplete. */
async function suggest(
  shell: string,
  typed: readonly string[],
  { terminal }: World,
  groups: readonly CommandGroup[],
): Promise<void> {
  const { encodeSuggestions } = await completionOf(shell);
  await terminal.out([...encodeSuggestions(suggestions(typed, groups))].join(""));
}

function suggestions(typed: readonly string[], groups: readonly CommandGroup[]): readonly Suggestion[] {
  const commands = groups.flatMap((group) => group.commands);
  const current = typed.at(-1) ?? "";
  const line = readCommandLine(typed.slice(0, -1));
  const { name, own } = line;
  if (name !== undefined) {
    const command = commands.find((candidate) => candidate.name === name);
    if (!command) return [];
    const all = parsedWords(line);
    const { parser, words, more } = command.completing?.(all) ?? { ...command, words: all, more: [] };
    return [...startingWith(current, more), ...suggestSync(parser, nonEmpty(words, current))];
  }
  const options = suggestSync(globalOptions, nonEmpty(own, current));
  if (line.awaitsValue) return options;
  return [...startingWith(current, commands), ...options];
}

function startingWith(
  current: string,
  commands: readonly Pick<Command, "name" | "summary">[],
): readonly Suggestion[] {
  return commands.filter(({ name }) => name.startsWith(current)).map(({ name, summary }) =>
    literal(name, summary)
  );
}

/** The words in the type that the parser expects: a list with at least one element. */
function nonEmpty(words: readonly string[], last: string): readonly [string, ...string[]] {
  const [first, ...more] = words;
  return first === undefined ? [last] : [first, ...more, last];
}

function literal(text: string, description: string): Suggestion {
  return { kind: "literal", text, description: words(description) };
}

async function completionOf(shell: string) {
  const { bash, fish, nu, pwsh, zsh } = await import("@optique/core/completion");
  const known = { bash, fish, nu, pwsh, powershell: pwsh, zsh }[shell];
  if (known) return known;
  throw new PosternError("usage", `Cannot complete for "${shell}": unknown shell`, {
    hint: `use one of ${shells.join(", ")}`,
  });
}
