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

/** A command line, as far as it is read before the parser is loaded. The parser gets the same words. */
export interface CommandLine {
  /** The command's name; undefined where there is none. */
  readonly name: string | undefined;
  /** The command whose permissions it gets: `kubectl` for `clusters NAME kubectl`, `help` for an unknown name. */
  readonly command: string;
  /** The command's own words, without its name but with the global options before it. */
  readonly own: readonly string[];
  /** The words of another program, and those behind `--`. */
  readonly rest: readonly string[];
  /** Own words that are neither options nor their values. */
  readonly words: readonly string[];
  /** Own options with their values, in the order in which they stand; flags have empty ones. */
  readonly options: ReadonlyMap<string, readonly string[]>;
  /** Whether the last option lacks its value. */
  readonly awaitsValue: boolean;
}

/** Reads a command line without a parser. */
export function readCommandLine(args: readonly string[]): CommandLine {
  const { words: [at], options, awaitsValue } = scan(args, { most: 1 });
  if (at === undefined) {
    const command = options.has("--version") ? "version" : "help";
    return { name: undefined, command, own: args, rest: [], words: [], options, awaitsValue };
  }
  const name = args[at] ?? "";
  const others = args.toSpliced(at, 1);
  // kharon's first form: nothing but a file that says where connections go.
  return at === args.length - 1 && /[^/\\]\.json$/.test(name)
    ? lineOf("proxy", [...others, "--mapping-file", name])
    : lineOf(name, others);
}

function lineOf(name: string, args: readonly string[]): CommandLine {
  const known = Object.hasOwn(commandGrants, name) ? name : "help";
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

/** The words that the parser gets, with another program's words after `--`. */
export function parsedWords({ own, rest }: Pick<CommandLine, "own" | "rest">): readonly string[] {
  return rest.length === 0 ? own : [...own, "--", ...rest];
}

/** Which form of `postern clusters …` a line has. */
export interface ClusterForm {
  /** Where the first two words are. */
  readonly first: number | undefined;
  readonly second: number | undefined;
  /** Behind `list` all words are patterns, also those that are verbs elsewhere. */
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

/** The words of a command up to `--` with their options, and the words behind it. */
export function splitAtDashes(
  args: readonly string[],
  command: string,
): Pick<CommandLine, "own" | "rest" | "options"> {
  const { end, options } = scan(args, { command });
  return { own: args.slice(0, end), rest: args.slice(end + 1), options };
}

/** The words of a command, with an empty value for each option that may stand without one and does. */
export function withEmptyValues(args: readonly string[], command: string): readonly string[] {
  const { empty } = scan(args, { command });
  return args.map((word, at) => empty.includes(at) ? `${word}=` : word);
}

/** The value of an option that is given once: the parser refuses a second one. */
export function valueOf({ options }: CommandLine, name: string): string | undefined {
  const values = options.get(name) ?? [];
  return values.length === 1 ? values[0] : undefined;
}

/** Whether a command line asks for the log level `debug`, and so for stack traces. */
export function wantsTraces(line: CommandLine): boolean {
  return valueOf(line, optionNames.logLevel) === "debug";
}

interface Scan {
  /** Where words are that are neither options nor their values. */
  readonly words: readonly number[];
  readonly options: ReadonlyMap<string, readonly string[]>;
  /** Where options that may stand without a value do. */
  readonly empty: readonly number[];
  /** Where reading ended. */
  readonly end: number;
  readonly awaitsValue: boolean;
}

/** Reads words up to `--`, or until there are so many; without a command only global options take values. */
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

/** Drops the flags that share a word with another option: `-vo json` is `-v -o json`. */
function unbundled(word: string): string {
  return word.replace(/^-[vf]+(?!$)/, "-");
}

/** The name of the option that a word is, without a value behind `=`. */
function optionIn(word: string): string | undefined {
  const [name = ""] = word.split("=", 1);
  return /^--?[a-z0-9-]+$/i.test(name) || logOptions.some((option) => option === name) ? name : undefined;
}

function takesValue(option: string, command: string | undefined): boolean {
  if (command === undefined) return globalValues.includes(option);
  return !flags.includes(option) || notFlags[command]?.includes(option) === true;
}
