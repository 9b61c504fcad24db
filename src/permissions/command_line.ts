import { commandGrants } from "./command_grants.ts";
import {
  clusterVerbs,
  flags,
  globalValues,
  logOptions,
  notFlags,
  optionalValues,
  optionNames,
  passingOn,
} from "./option_table.ts";

/** A command line as postern reads it before the parser loads. The parser gets the same words. */
export interface CommandLine {
  /** The command's name; undefined without a command. */
  readonly name: string | undefined;
  /** The command whose permissions apply: `kubectl` for `clusters NAME kubectl`, `help` for an unknown name. */
  readonly command: string;
  /** The command's words: without its name, and with the global options before it. */
  readonly own: readonly string[];
  /** The words for another program, and the words after `--`. */
  readonly rest: readonly string[];
  /** The words in `own` that are neither options nor their values. */
  readonly words: readonly string[];
  /** The options in `own` with their values in order; the value of a flag is empty. */
  readonly options: ReadonlyMap<string, readonly string[]>;
  /** Whether the last option lacks its value. */
  readonly awaitsValue: boolean;
}

/** Reads a command line without the parser. */
export function readCommandLine(args: readonly string[]): CommandLine {
  const { words: [at], options, awaitsValue } = scan(args, { most: 1 });
  if (at === undefined) {
    const command = options.has("--version") ? "version" : "help";
    return { name: undefined, command, own: args, rest: [], words: [], options, awaitsValue };
  }
  const name = args[at] ?? "";
  const others = args.toSpliced(at, 1);
  // kharon's first form: a mapping file as the only argument.
  return at === args.length - 1 && /[^/\\]\.json$/.test(name)
    ? lineOf("proxy", [...others, "--mapping-file", name])
    : lineOf(name, others);
}

function lineOf(name: string, args: readonly string[]): CommandLine {
  const known = name === "connect" && isNc(args) ? "nc" : Object.hasOwn(commandGrants, name) ? name : "help";
  const verb = known === "clusters" ? clusterForm(args).verb : undefined;
  const most = passingOn[verb ?? known] ?? Infinity;
  const { words, end, options, awaitsValue } = scan(args, { command: known, most: verb ? most + 1 : most });
  const isForEach = ["clusters", "shell"].includes(known) && options.has("--each");
  return {
    name,
    command: isForEach ? "shell" : verb ?? known,
    own: args.slice(0, end),
    rest: args.slice(words.length < most && args[end] === "--" ? end + 1 : end),
    words: words.map((at) => args[at] ?? ""),
    options,
    awaitsValue,
  };
}

/** The words for the parser, with another program's words after `--`. */
export function parsedWords({ own, rest }: Pick<CommandLine, "own" | "rest">): readonly string[] {
  return rest.length === 0 ? own : [...own, "--", ...rest];
}

/** The form of a `postern clusters …` line. */
export interface ClusterForm {
  /** The positions of the first two words. */
  readonly first: number | undefined;
  readonly second: number | undefined;
  /** After `list`, all words are patterns, even names of verbs. */
  readonly isList: boolean;
  readonly verb: typeof clusterVerbs[number] | undefined;
}

/** Reads the first two words of `postern clusters …`. */
export function clusterForm(args: readonly string[]): ClusterForm {
  const { words: [first, second], options } = scan(args, { command: "clusters", most: 2 });
  const isList = first !== undefined && args[first] === "list";
  const word = second === undefined || isList || options.has("--each") ? undefined : args[second];
  return { first, second, isList, verb: clusterVerbs.find((verb) => verb === word) };
}

/** Whether the words after `connect` mean `nc`: a target, and not kubevpn's `--socks`. */
export function isNc(args: readonly string[]): boolean {
  const { words, options } = scan(args, { command: "connect" });
  return words.length > 0 && !options.has("--socks");
}

/** Splits the words of a command at `--`. */
export function splitAtDashes(
  args: readonly string[],
  command: string,
): Pick<CommandLine, "own" | "rest" | "options"> {
  const { end, options } = scan(args, { command });
  return { own: args.slice(0, end), rest: args.slice(end + 1), options };
}

/** The words of a command, with `=` after each option that has an optional value but no value on the line. */
export function withEmptyValues(args: readonly string[], command: string): readonly string[] {
  const { empty } = scan(args, { command });
  return args.map((word, at) => empty.includes(at) ? `${word}=` : word);
}

/** The value of an option that occurs once: the parser rejects a second one. */
export function valueOf({ options }: CommandLine, name: string): string | undefined {
  const values = options.get(name) ?? [];
  return values.length === 1 ? values[0] : undefined;
}

/** Whether the log level is `debug`, which enables stack traces. */
export function wantsTraces(line: CommandLine): boolean {
  return valueOf(line, optionNames.logLevel) === "debug";
}

interface Scan {
  /** The positions of words that are neither options nor their values. */
  readonly words: readonly number[];
  readonly options: ReadonlyMap<string, readonly string[]>;
  /** The positions of options that omit their optional value. */
  readonly empty: readonly number[];
  /** The position at which reading ended. */
  readonly end: number;
  readonly awaitsValue: boolean;
}

/** Reads words up to `--` or up to `most` words; without a command, only global options take values. */
function scan(
  args: readonly string[],
  { command, most = Infinity }: { readonly command?: string; readonly most?: number },
): Scan {
  const words: number[] = [];
  const empty: number[] = [];
  const options = new Map<string, string[]>();
  let awaitsValue = false;
  let at = 0;
  for (; at < args.length && words.length < most; at++) {
    const word = unbundled(args[at] ?? "");
    if (word === "--" && command !== undefined) break;
    const option = optionIn(word);
    if (option === undefined) {
      words.push(at);
      continue;
    }
    const add = (value: string) => options.set(option, [...options.get(option) ?? [], value]);
    const next = args[at + 1];
    if (word.length > option.length) add(word.slice(option.length + 1));
    else if (!takesValue(option, command)) add("");
    else if (optionalValues.includes(option) && (next ?? "-").startsWith("-")) {
      add("");
      empty.push(at);
    } else if (next === undefined) awaitsValue = true;
    else {
      add(next);
      at++;
    }
  }
  return { words, options, empty, end: at, awaitsValue };
}

/** Removes flags that share a word with another option: `-vo json` means `-v -o json`. */
function unbundled(word: string): string {
  return word.replace(/^-[vf]+(?!$)/, "-");
}

/** The name of the option in a word, without a value after `=`; undefined for other words. */
function optionIn(word: string): string | undefined {
  const [name = ""] = word.split("=", 1);
  return /^--?[a-z0-9-]+$/i.test(name) || logOptions.some((option) => option === name) ? name : undefined;
}

function takesValue(option: string, command: string | undefined): boolean {
  if (command === undefined) return globalValues.includes(option);
  return !flags.includes(option) || notFlags[command]?.includes(option) === true;
}
