import { getDocPageSync } from "@optique/core/parser";
import { formatDocPage } from "@optique/core/doc";
import { closest } from "../../config/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { type CommandLine, parsedWords, wantsTraces } from "../../permissions/mod.ts";
import type { Command, CommandForm, Context, Example } from "./command.ts";
import { globalOptions } from "./global_options.ts";
import { reportError } from "../output/report_error.ts";

/** The commands under a heading of the help page. */
export interface CommandGroup {
  readonly title: string;
  readonly commands: readonly Command[];
}

/** Runs one command line to its end; failures are told on stderr, and the answer is the exit code. */
export async function runCommandLine(
  line: CommandLine,
  world: World,
  context: Context & { readonly groups: readonly CommandGroup[] },
): Promise<number> {
  try {
    return await dispatch(line, world, context);
  } catch (error) {
    return await reportError(error, world, { showStack: wantsTraces(line) });
  }
}

async function dispatch(
  line: CommandLine,
  world: World,
  { groups, ...context }: Context & { readonly groups: readonly CommandGroup[] },
): Promise<number> {
  const { name, own } = line;
  const width = Math.max(40, world.terminal.columns);
  if (name === undefined) {
    const asked = own.find((word) => isHelp(word) || word === "--version");
    if (asked === "--version") {
      await world.terminal.out(`postern ${context.version}\n`);
      return 0;
    }
    if (asked !== undefined) {
      await world.terminal.out(overview(groups, width));
      return 0;
    }
    await world.terminal.err(`${overview(groups, width)}\n`);
    throw new PosternError("usage", "Cannot tell what to do: no command", { hint: "postern help" });
  }
  const { command, args } = formOf(await known(groups, name, world), line);
  demandNoLevel(own, name);
  if (own.some(isHelp)) {
    await world.terminal.out(command.help(width, line.words.slice(0, 1)));
    return 0;
  }
  return await command.start(args, world, context);
}

/** The form of a command that a line asks for, and the words that it parses. */
export function formOf(command: Command, line: CommandLine): CommandForm {
  const args = parsedWords(line);
  return command.form?.(args) ?? { command, args };
}

async function known(groups: readonly CommandGroup[], name: string, { terminal }: World): Promise<Command> {
  try {
    return find(groups, name);
  } catch (error) {
    await terminal.err(`${usageLine}\n`);
    throw error;
  }
}

/** The command of this name; else an error that says which one was meant. */
export function find(groups: readonly CommandGroup[], name: string): Command {
  const commands = groups.flatMap((group) => group.commands);
  const command = commands.find((candidate) => candidate.name === name);
  if (command) return command;
  if (isNumber(name)) throw withLevel(`Cannot run "${name.slice(0, 60)}": there is no such command`);
  const meant = closest(name, commands.map((candidate) => candidate.name));
  throw new PosternError("usage", `Cannot run "${name.slice(0, 60)}": there is no such command`, {
    hint: meant ? `did you mean postern ${meant}?` : "postern help",
  });
}

/** The page of `postern help`. */
export function overview(groups: readonly CommandGroup[], width: number): string {
  const longest = Math.max(...groups.flatMap(({ commands }) => commands.map(({ name }) => name.length)));
  const sections = groups.map(({ title, commands }) =>
    `${title}:\n${commands.map(({ name, summary }) => `  ${name.padEnd(longest)}  ${summary}\n`).join("")}`
  );
  const options = formatDocPage("postern", { sections: getDocPageSync(globalOptions)?.sections ?? [] }, {
    maxWidth: width,
    termWidth: "auto",
    showUsage: false,
  });
  return [
    "postern: one local door into every private network\n",
    `${usageLine}\n`,
    ...sections,
    `${options.trim().replace(/ +$/gm, "")}\n`,
    `Examples:\n${examples.map(([line, does]) => `  ${line}\n      ${does}\n`).join("")}`,
    "postern COMMAND --help tells more about a command.\n",
  ].join("\n");
}

const usageLine = "Usage: postern [GLOBAL OPTIONS] COMMAND [ARGUMENTS]";

const examples: readonly Example[] = [
  ["postern demo --once", "shows a door at work, in this process only"],
  ["postern proxy --route .example.net=proxy:http://127.0.0.1:3128", "opens a door on localhost:12000"],
  ["postern explain db.example.net:5432", "says where a connection would go, and why"],
  ['eval "$(postern env)"', "points the programs of this shell at the door"],
];

/** Other tools' -v N. */
function demandNoLevel(words: readonly string[], name: string): void {
  const isLevel = (word: string, at: number) =>
    isNumber(word) && ["-v", "--verbose", "--verbosity"].includes(words[at - 1] ?? "");
  const level = words.find(isLevel) ?? words.find((word) => /^--verbosity=/.test(word));
  if (level !== undefined) {
    throw withLevel(`Cannot run "postern ${name}": unexpected "${level.slice(0, 60)}"`);
  }
}

function withLevel(message: string): PosternError {
  return new PosternError("usage", message, {
    hint: "-v takes no number: repeat it (-v -v), or write --log-level debug",
  });
}

function isNumber(word: string): boolean {
  return /^-?[0-9]+$/.test(word);
}

function isHelp(word: string): boolean {
  return word === "--help" || word === "-h";
}
