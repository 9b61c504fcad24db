import { object } from "@optique/core/constructs";
import { formatDocPage } from "@optique/core/doc";
import { formatMessage, type Message } from "@optique/core/message";
import { getDocPageSync, type Parser, parseSync } from "@optique/core/parser";
import { formatUsage, type Usage } from "@optique/core/usage";
import type { Log } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { withEmptyValues } from "../../permissions/mod.ts";
import type { World } from "../../world/mod.ts";
import { globalOptions, type Globals } from "./global_options.ts";

/** A parser of one command's own options and arguments. */
export type ArgumentParser<T = unknown> = Parser<"sync", T, unknown>;

/** What every command is given besides its arguments and the world. */
export interface Context {
  readonly version: string;
  /** Takes finished log lines without making the caller wait. */
  readonly writeLogLine: (line: string) => void;
  /** Resolves when they are written: what comes after them in time stands after them. */
  readonly flushLog?: () => Promise<void>;
}

/** A context once the global options have been read. */
export interface RunContext extends Context {
  /** Ends when the person interrupts; the process then exits 130. */
  readonly signal: AbortSignal;
  readonly globals: Globals;
  readonly log: Log;
}

/** One line to type, and what it does. */
export type Example = readonly [line: string, does: string];

/** One command of the command line. */
export interface Command {
  readonly name: string;
  /** Completes the sentence "postern NAME …" in a list of commands. */
  readonly summary: string;
  readonly parser: ArgumentParser;
  /** The form that these words ask for, where the command has several (`clusters NAME shell`). */
  form?(args: readonly string[]): CommandForm;
  /** What completes the words so far, where that is not the parser alone. */
  readonly completing?: (words: readonly string[]) => Completing;
  /** The first word after the command may choose a part of it (`config check`). */
  help(width: number, words?: readonly string[]): string;
  usage(width: number): string;
  /** Reads the arguments and does the work; the answer is the exit code. */
  start(args: readonly string[], world: World, context: Context): Promise<number>;
}

/** One form of a command, and the words that it parses. */
export interface CommandForm {
  readonly command: Command;
  readonly args: readonly string[];
}

/** Who knows what may follow. */
export interface Completing {
  readonly parser: ArgumentParser;
  /** The words that the parser is given. */
  readonly words: readonly string[];
  /** Words besides those of the parser. */
  readonly besides: readonly Pick<Command, "name" | "summary">[];
}

/** A command as its file writes it. */
export interface Definition<T> {
  readonly name: string;
  readonly summary: string;
  /** More than the summary, in whole sentences. */
  readonly description: string;
  readonly examples: readonly Example[];
  readonly parser: ArgumentParser<T>;
  /** True where the command itself decides what an interrupt means. */
  readonly handlesSignals?: boolean;
  /** The least severe level logged where the person names none. */
  readonly logLevel?: "info" | "warn";
  /** Resolves with the exit code where it is another one than 0. */
  run(values: T, world: World, context: RunContext): Promise<number | void>;
}

/** Makes a command of its definition: reading of arguments, help, and interruption are the same for all. */
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
    parser: full,
    help: (width, words = []) => helpPage({ ...definition, program, full }, width, words),
    usage: (width) => usageText(program, parser.usage, width),
    async start(args, world, context) {
      const parsed = parseSync(full, withEmptyValues(args, name));
      if (!parsed.success) {
        if (!isAboutValue(parsed.error)) await world.terminal.err(`${this.usage(world.terminal.columns)}\n`);
        throw usageError(program, parsed.error);
      }
      // `own` is what `parser` made; optique's type for a field of a generic object cannot say so.
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
  const { brief: _summary, ...told } = page;
  const doc = formatDocPage(program, told, { maxWidth: width, termWidth: "auto", showUsage: false });
  const about = words.length === 0 ? [sentence(summary), wrapped(description.split(/\s+/), width)] : [];
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

/** The words that choose a part of a command. */
function partsOf(usage: Usage): readonly string[] {
  return usage.flatMap((term) => {
    if (term.type === "command") return [term.name];
    if (term.type === "exclusive") return term.terms.flatMap(partsOf);
    return term.type === "optional" ? partsOf(term.terms) : [];
  });
}

/** The usage line, broken between options only. */
function usageText(program: string, usage: Usage, width: number): string {
  return formatUsage(program, usage, { expandCommands: true }).split("\n").map((line, at) => {
    const head = `${at === 0 ? "Usage:" : "      "} ${program}`;
    const terms = line.slice(program.length).match(/\[.*?\](?= |$)|\(.*\)|\S+/g) ?? [];
    return `${head} ${wrapped(terms, width - head.length - 1, " ".repeat(head.length + 1))}`.trimEnd();
  }).join("\n");
}

/** Whether one option or argument is at fault, which the sentence names: the whole usage would only bury it. */
function isAboutValue([first]: Message): boolean {
  return first !== undefined && ["optionName", "optionNames", "metavar"].includes(first.type);
}

/** Turns the parser's words into one of our sentences; its "did you mean" becomes the hint. */
function usageError(program: string, error: Message): PosternError {
  const text = formatMessage(error, { colors: false, quotes: true }).replaceAll("`", "");
  const [what = "", ...more] = text.split("\n\n");
  const tip = more.join(" ").replace(/\s+/g, " ").trim();
  return new PosternError("usage", `Cannot run "${program}": ${plain(what)}`, {
    hint: tip === "" ? `see ${program} --help` : plain(tip).replace(/^did you mean (?!one)/, "did you mean "),
  });
}

function plain(text: string): string {
  const line = text.replace(/\s+/g, " ").trim().replace(/\.$/, "");
  // NUMBER and other names of values stay as they are.
  return /^[A-Z]{2}/.test(line) ? line : line.charAt(0).toLowerCase() + line.slice(1);
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function wrapped(words: readonly string[], width: number, indent = ""): string {
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

/** A signal that ends at the first SIGINT; a second one finds no listener and kills the process. */
class Interrupt implements Disposable {
  readonly #controller = new AbortController();
  readonly #listening: Disposable | undefined;

  /** Without a world it never ends: the command has its own ear for signals. */
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
