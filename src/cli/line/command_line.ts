import { getDocPageSync, parseSync } from "@optique/core/parser";
import { formatDocPage } from "@optique/core/doc";
import { closest } from "../../config/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { type CommandLine, parsedWords, wantsTraces } from "../../permissions/mod.ts";
import {
  type Command,
  type CommandContext,
  type CommandForm,
  type Example,
  rejectLine,
  wrapped,
} from "./command.ts";
import { globalOptions } from "./global_options.ts";
import { reportError } from "../output/report_error.ts";

/** The commands under one heading of the help page. */
export interface CommandGroup {
  readonly title: string;
  readonly commands: readonly Command[];
  /** Lists the commands on one line, without their summaries. */
  readonly isBrief?: boolean;
}

/** Runs one command line, reports failures on stderr and returns the exit code. */
export async function runCommandLine(
  line: CommandLine,
  world: World,
  context: CommandContext & { readonly groups: readonly CommandGroup[] },
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
  { groups, ...context }: CommandContext & { readonly groups: readonly CommandGroup[] },
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
    const parsed = parseSync(globalOptions, own);
    if (!parsed.success) {
      return await rejectLine(world, { program: "postern", usage: usageLine, error: parsed.error });
    }
    await world.terminal.err(`${overview(groups, width)}\n`);
    throw new PosternError("usage", "Cannot run postern: missing argument: COMMAND", {
      hint: "list the commands: postern help",
    });
  }
  const { command, args } = formOf(await known(groups, name, world), line);
  demandNoLevel(own, name);
  if (own.some(isHelp)) {
    await world.terminal.out(command.help(width, line.words.slice(0, 1)));
    return 0;
  }
  return await command.start(args, world, context);
}

/** The form of a command that a line selects, with the words that it parses. */
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

/** Returns the command of this name; the error suggests a similar one. */
export function find(groups: readonly CommandGroup[], name: string): Command {
  const commands = groups.flatMap((group) => group.commands);
  const command = commands.find((candidate) => candidate.name === name);
  if (command) return command;
  if (isNumber(name)) throw withLevel(`Cannot run "${name.slice(0, 60)}": unknown command`);
  const meant = closest(name, commands.map((candidate) => candidate.name));
  throw new PosternError("usage", `Cannot run "${name.slice(0, 60)}": unknown command`, {
    hint: meant ? `did you mean postern ${meant}?` : "list the commands: postern help",
  });
}

/** The page of `postern help`: one screen, without the spellings of other programs. */
export function overview(groups: readonly CommandGroup[], width: number): string {
  const shown = withCommands(groups, ({ replacement }) => replacement === undefined);
  const described = shown.filter(({ isBrief }) => !isBrief);
  const longest = Math.max(...described.flatMap(({ commands }) => commands.map(({ name }) => name.length)));
  const sections = described.map(({ title, commands }) =>
    `${title}:\n${commands.map(({ name, summary }) => `  ${name.padEnd(longest)}  ${summary}\n`).join("")}`
  );
  const brief = shown.filter(({ isBrief }) => isBrief).map(({ title, commands }) => {
    const names = commands.map(({ name }, at) => at < commands.length - 1 ? `${name},` : name);
    const indent = " ".repeat(longest + 4);
    return `  ${title.padEnd(longest)}  ${wrapped(names, width - indent.length, indent)}\n`;
  });
  const options = formatDocPage("postern", { sections: getDocPageSync(globalOptions)?.sections ?? [] }, {
    maxWidth: width,
    termWidth: "auto",
    showUsage: false,
  });
  return [
    "postern: one local door into every private cluster\n",
    `${usageLine}\n`,
    ...sections,
    ...(brief.length > 0 ? [`Other commands:\n${brief.join("")}`] : []),
    `${options.trim().replace(/ +$/gm, "")}\n`,
    `More help:\n${examples.map(([line, does]) => `  ${line.padEnd(24)}  ${does}\n`).join("")}`,
  ].join("\n");
}

/** The page of `postern help compat`: each spelling of another program with its summary and postern's own spelling. */
export function compatPage(groups: readonly CommandGroup[], width: number): string {
  const sections = withCommands(groups, ({ replacement }) => replacement !== undefined).map(
    ({ title, commands }) => {
      const lines = commands.map(({ name, summary, replacement = "" }) =>
        `  ${name}\n      ${summary}\n      Same as: ${replacement}\n`
      );
      return `${title}:\n${lines.join("")}`;
    },
  );
  const about = "These commands accept the spellings of other programs, so existing scripts keep working. " +
    "postern COMMAND --help describes each of them.";
  return [`${wrapped(about.split(" "), width)}\n`, ...sections].join("\n");
}

/** The groups with the commands that `isWanted` accepts, without empty groups. */
function withCommands(
  groups: readonly CommandGroup[],
  isWanted: (command: Command) => boolean,
): readonly CommandGroup[] {
  return groups.map((group) => ({ ...group, commands: group.commands.filter(isWanted) })).filter(
    ({ commands }) => commands.length > 0,
  );
}

const usageLine = "Usage: postern [GLOBAL OPTIONS] COMMAND [ARGUMENTS]";

const examples: readonly Example[] = [
  ["postern demo --once", "Run a self-contained simulation"],
  ["postern COMMAND --help", "Describe one command"],
  ["postern help compat", "List the spellings of kharon and kubevpn"],
];

/** Rejects `-v N`, which other programs accept. */
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
    hint: "repeat -v instead of giving it a number (-v -v), or use --log-level debug",
  });
}

function isNumber(word: string): boolean {
  return /^-?[0-9]+$/.test(word);
}

function isHelp(word: string): boolean {
  return word === "--help" || word === "-h";
}
