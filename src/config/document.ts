import type { YAMLError } from "yaml";
import type { Path, Position, Problem } from "./context.ts";
import { offsetOf } from "./spot.ts";
import { quoteHint, readTree } from "./yaml_tree.ts";

/** The most bytes a document may have: parsing takes a hundred times as much memory. */
export const documentLimit = 2_000_000;

/** A parsed document that still knows where everything was written. */
export interface ConfigDocument {
  /** The name of its file. */
  readonly name: string;
  /** Plain data; an empty document is an empty mapping; undefined when nothing could be made of the text. */
  readonly value: unknown;
  /** Where the value at a path, or its key, was written; the nearest place around it when it is not there. */
  locate(path: Path, on?: "key"): Position | undefined;
  /** What is wrong with the text itself. */
  readonly problems: readonly Problem[];
}

/** How many syntax errors are told: one mistake often makes hundreds of them. */
const mostTold = 10;

/** Reads YAML (or JSON, which is YAML too). Never throws for what the text holds. */
export async function parseDocument(text: string, { name }: { name: string }): Promise<ConfigDocument> {
  // Cheap first: a text of that many characters has at least as many bytes.
  if (text.length > documentLimit || new TextEncoder().encode(text).length > documentLimit) {
    return unreadable(name, {
      path: [],
      message: "the file is over 2 MB: put long lists into a routesFrom file",
    });
  }
  const source = text.startsWith("\uFEFF") ? text.slice(1) : text;
  const positions = new Positions(source);
  const opening = tooDeep.exec(source);
  if (opening) {
    const message = "nested more than 100 levels deep";
    return unreadable(name, { path: [], message, position: positions.of(opening.index) });
  }
  const { yaml } = await import("./yaml_library.ts");
  // Own checks stand in for some of the parser's: its search for equal keys takes quadratic time.
  const document = yaml.parseDocument(source, {
    schema: "core",
    version: "1.2",
    stringKeys: true,
    uniqueKeys: false,
    prettyErrors: false,
    resolveKnownTags: false,
    logLevel: "error",
  });
  if (document.errors.length > 0 || document.warnings.length > 0) {
    return unreadable(name, ...syntaxProblems([...document.errors, ...document.warnings], positions));
  }
  const { value, spot, faults } = readTree(yaml, document.contents);
  return {
    name,
    value,
    problems: faults.map(({ offset, path, message }) => ({ path, message, position: positions.of(offset) })),
    locate: (path, on) => positions.of(offsetOf(spot, path, on)),
  };
}

/** More openings in a row than any configuration needs; the parser takes seconds for a million of them. */
const tooDeep = /(?:[[{]\s*){101}|^ *(?:[-?:] ){101}/m;

function unreadable(name: string, ...problems: Problem[]): ConfigDocument {
  return { name, value: undefined, problems, locate: () => undefined };
}

/** The first error of each line: what follows on it is mostly the same mistake. */
function syntaxProblems(errors: readonly YAMLError[], positions: Positions): Problem[] {
  const problems: Problem[] = [];
  const lines = new Set<number>();
  for (const error of errors) {
    const position = positions.of(error.pos[0]);
    if (lines.has(position.line)) continue;
    lines.add(position.line);
    if (lines.size <= mostTold) problems.push({ path: [], message: explained(error), position });
  }
  const rest = lines.size - mostTold;
  if (rest > 0) problems.push({ path: [], message: `syntax errors on ${rest} more lines` });
  return problems;
}

/** The parser's error in a person's words, without the text it quotes: that may be a secret. */
function explained({ code, message }: YAMLError): string {
  switch (code) {
    case "BAD_ALIAS":
    case "ALIAS_PROPS":
      return quoteHint;
    case "TAB_AS_INDENT":
      return "a tab is used to indent: use spaces";
    case "MULTIPLE_DOCS":
      return "there is more than one document: remove the line ---";
    case "RESOURCE_EXHAUSTION":
      return "nested too deeply";
    case "NON_STRING_KEY":
      return "a key must be a text";
    case "TAG_RESOLVE_FAILED":
      return "a tag (!) has no meaning here: remove it, or write the text in quotes";
    case "BAD_DIRECTIVE":
      return "a line must not begin with %: write the text in quotes";
    case "UNEXPECTED_TOKEN":
      return "unexpected text: look for a missing quote, comma, colon or line break before it, " +
        'and write an IPv6 address with its port in quotes, "[::1]:12000"';
    case "BLOCK_AS_IMPLICIT_KEY":
      return "a key inside of a value: align it with the other keys, or write a text with a colon in quotes";
    case "BAD_SCALAR_START":
      return "a text must not begin with @ or a backquote: write it in quotes";
    case "MULTILINE_IMPLICIT_KEY":
      return "a key must be on one line: look for a missing colon, or for one without a space after it";
    case "BAD_INDENT":
      if (message.startsWith("Flow")) return "a bracket or brace before this is not closed";
      return "indented unlike the lines it belongs to";
    default:
      return `cannot be read as YAML: ${(message.split(/[\n"`]/, 1)[0] ?? "").replace(/[\s:]+$/, "")}`;
  }
}

/** Turns offsets into lines and columns; the lines are found when the first one is asked for. */
class Positions {
  readonly #text: string;
  #starts: number[] | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  of(offset: number): Position {
    const starts = this.#starts ??= lineStarts(this.#text);
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: Math.min(offset, this.#text.length) - (starts[low] ?? 0) + 1 };
  }
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}
