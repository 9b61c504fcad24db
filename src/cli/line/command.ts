import { object } from "@optique/core/constructs";
import { formatDocPage } from "@optique/core/doc";
import { formatMessage, type Message } from "@optique/core/message";
import { getDocPageSync, type Parser, parseSync } from "@optique/core/parser";
import { formatUsage, type Usage } from "@optique/core/usage";
import type { Log } from "../../core/mod.ts";
import { alternatives } from "../../config/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { withEmptyValues } from "../../permissions/mod.ts";
import type { World } from "../../world/mod.ts";
import { globalOptions, type Globals } from "./global_options.ts";

/** A parser of one command's own options and arguments. */
export type ArgumentParser<T = unknown> = Parser<"sync", T, unknown>;

/** What a command gets in addition to its arguments and the world. */
export interface CommandContext {
  readonly version: string;
  /** Queues a finished log line; returns at once. */
  readonly writeLogLine: (line: string) => void;
  /** Resolves when all queued lines are written, so that later output follows them. */
  readonly flushLog?: () => Promise<void>;
}

/** A context with the global options applied. */
export interface RunContext extends CommandContext {
  /** Aborts when the user interrupts the command; the process then exits 130. */
  readonly signal: AbortSignal;
  readonly globals: Globals;
  readonly log: Log;
}

/** A command line to type, and what it does. */
export type Example = readonly [line: string, does: string];

export interface Command {
  readonly name: string;
  /** A verb phrase for the list of commands: capitalized, at most 60 characters, without a period. */
  readonly summary: string;
  /** postern's own spelling, for a command that exists for users of another program. */
  readonly replacement?: string;
  readonly parser: ArgumentParser;
  /** Picks the form that matches these words when the command has several (`clusters NAME shell`). */
  form?(args: readonly string[]): CommandForm;
  /** Completes the words so far when the parser alone cannot. */
  readonly completing?: (words: readonly string[]) => Completing;
  /** The first word after the command may select a subcommand (`config check`). */
  help(width: number, words?: readonly string[]): string;
  usage(width: number): string;
  /** Parses the arguments and runs the command; returns the exit code. */
  start(args: readonly string[], world: World, context: CommandContext): Promise<number>;
}

/** One form of a command with the words that it parses. */
export interface CommandForm {
  readonly command: Command;
  readonly args: readonly string[];
}

/** The source of completions for a command line. */
export interface Completing {
  readonly parser: ArgumentParser;
  /** The words for the parser. */
  readonly words: readonly string[];
  /** Completions that the parser does not know. */
  readonly more: readonly Pick<Command, "name" | "summary">[];
}

/** A command as its file defines it. */
export interface Definition<T> {
  readonly name: string;
  readonly summary: string;
  readonly replacement?: string;
  /** Details in full sentences; the help page prints the summary before them. */
  readonly description: string;
  readonly examples: readonly Example[];
  readonly parser: ArgumentParser<T>;
  /** True when the command handles an interrupt itself. */
  readonly handlesSignals?: boolean;
  /** The minimum log level when the command line sets none. */
  readonly logLevel?: "info" | "warn";
  /** Resolves with the exit code, or with nothing for 0. */
  run(values: T, world: World, context: RunContext): Promise<number | void>;
}

/** Makes a command of its definition; adds the parsing, help and interrupt handling that all commands share. */
export function defineCommand<T>(definition: Definition<T>): Command {
  const { name, summary, parser } = definition;
  const program = `postern ${name}`;
  const full: ArgumentParser<{ own: unknown; globals: Globals }> = object({
    own: parser,
    globals: globalOptions,
  });
  return {
    name,
    summary,
    ...(definition.replacement !== undefined && { replacement: definition.replacement }),
    parser: full,
    help: (width, words = []) => helpPage({ ...definition, program, full }, width, words),
    usage: (width) => usageText(program, parser.usage, width),
    async start(args, world, context) {
      const parsed = parseSync(full, withEmptyValues(args, name));
      if (!parsed.success) {
        const usage = this.usage(world.terminal.columns);
        return await rejectLine(world, {
          program,
          usage,
          error: parsed.error,
          argument: missingOf(parser.usage),
        });
      }
      // `own` is the value of `parser`; optique's type for a field of a generic object does not show that.
      const { own, globals } = parsed.value;
      const log = globals.createLog(world, {
        level: definition.logLevel ?? "warn",
        write: context.writeLogLine,
      });
      using interrupt = new Interrupt(definition.handlesSignals ? undefined : world);
      try {
        return await definition.run(own as T, world, {
          ...context,
          signal: interrupt.signal,
          globals,
          log,
        }) ??
          0;
      } finally {
        await context.flushLog?.();
      }
    },
  };
}

function helpPage<T>(
  { program, summary, description, examples, parser, full }: Definition<T> & {
    program: string;
    full: ArgumentParser;
  },
  width: number,
  asked: readonly string[],
): string {
  const words = asked.filter((word) => partsOf(parser.usage).includes(word));
  const page = getDocPageSync(full, words) ?? { sections: [] };
  const usage = words.length === 0 ? parser.usage : getDocPageSync(parser, words)?.usage ?? parser.usage;
  const { brief: _summary, ...sections } = page;
  const doc = formatDocPage(program, sections, { maxWidth: width, termWidth: "auto", showUsage: false });
  const about = words.length === 0 ? [`${summary}.`, wrapped(description.split(/\s+/), width)] : [];
  const wanted = words.length === 0
    ? examples
    : examples.filter(([line]) => line.startsWith(`${program} ${words.join(" ")}`));
  const shown = wanted.map(([line, does]) => `  ${line}\n      ${does}`);
  return [
    ...about,
    usageText(program, usage, width),
    doc.replace(/ +$/gm, "").replace(/^\n+/, "").trimEnd(),
    ...(shown.length > 0 ? [`Examples:\n${shown.join("\n")}`] : []),
  ].join("\n\n") + "\n";
}

/** The first argument that a command requires, or its subcommands. */
function missingOf(usage: Usage): string | undefined {
  const parts = partsOf(usage);
  return usage.flatMap((term) => term.type === "argument" ? [term.metavar] : [])[0] ??
    (parts.length > 0 ? alternatives(parts) : undefined);
}

/** The subcommands of a command. */
function partsOf(usage: Usage): readonly string[] {
  return usage.flatMap((term) => {
    if (term.type === "command") return [term.name];
    if (term.type === "exclusive") return term.terms.flatMap(partsOf);
    return term.type === "optional" ? partsOf(term.terms) : [];
  });
}

/** The usage line, wrapped between options only. */
function usageText(program: string, usage: Usage, width: number): string {
  return formatUsage(program, usage, { expandCommands: true }).split("\n").map((line, at) => {
    const head = `${at === 0 ? "Usage:" : "      "} ${program}`;
    const found: string[] = line.slice(program.length).match(/\[.*?\](?= |$)|\(.*\)|\S+/g) ?? [];
    // The program of `postern clusters NAME VERB` contains the NAME that its parser reads.
    const terms = program.includes(" NAME ") ? found.filter((term) => term !== "NAME") : found;
    return `${head} ${wrapped(terms, width - head.length - 1, " ".repeat(head.length + 1))}`.trimEnd();
  }).join("\n");
}

/** What the parser rejected. */
export interface RejectedLine {
  readonly program: string;
  readonly usage: string;
  readonly error: Message;
  /** The first argument that the command requires. */
  readonly argument?: string | undefined;
}

/** Fails for a command line that the parser rejected; prints the usage unless it would bury the error. */
export async function rejectLine({ terminal }: World, { usage, ...rejected }: RejectedLine): Promise<never> {
  if (!isAboutValue(rejected.error)) await terminal.err(`${usage}\n`);
  throw usageError(rejected);
}

/** Whether the error names one option or argument. */
function isAboutValue([first]: Message): boolean {
  return first !== undefined && ["optionName", "optionNames", "metavar"].includes(first.type);
}

/** Turns a parser error into a `PosternError`; the parser's "did you mean" becomes the hint. */
function usageError({ program, error, argument }: Omit<RejectedLine, "usage">): PosternError {
  const text = formatMessage(error, { colors: false, quotes: true }).replaceAll("`", "")
    .replace(
      /^(Missing required argument|No matching command found)\.$/,
      argument === undefined ? "$&" : `Missing argument: ${argument}.`,
    )
    .replace(/^(\S+):\s+must /, "$1 must ");
  const [problem = "", ...more] = text.split("\n\n");
  const tip = more.join(" ").replace(/\s+/g, " ").trim();
  return new PosternError("usage", `Cannot run "${program}": ${plain(problem)}`, {
    hint: tip === "" ? `see ${program} --help` : plain(tip).replace(/^did you mean (?!one)/, "did you mean "),
  });
}

function plain(text: string): string {
  const line = text.replace(/\s+/g, " ").trim().replace(/\.$/, "");
  // NUMBER and other metavars keep their capitals.
  return /^[A-Z]{2}/.test(line) ? line : line.charAt(0).toLowerCase() + line.slice(1);
}

/** Joins words into lines of at most `width` characters; every line but the first begins with `indent`. */
export function wrapped(words: readonly string[], width: number, indent = ""): string {
  const lines: string[] = [];
  let line = "";
  for (const word of words) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = "";
    }
    line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line].join(`\n${indent}`);
}

/** A signal that aborts at the first SIGINT. A second SIGINT finds no listener and kills the process. */
class Interrupt implements Disposable {
  readonly #controller = new AbortController();
  readonly #listening: Disposable | undefined;

  /** Never aborts without a world: the command then listens for signals itself. */
  constructor(world: World | undefined) {
    this.#listening = world?.process.on("SIGINT", () => {
      this.#listening?.[Symbol.dispose]();
      this.#controller.abort(new PosternError("cancelled", "Interrupted"));
    });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    this.#listening?.[Symbol.dispose]();
  }
}
