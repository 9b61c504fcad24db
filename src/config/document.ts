import type { YAMLError } from "yaml";
import type { Path, Position, Problem } from "./context.ts";
import { offsetOf } from "./spot.ts";
import { quoteHint, readTree } from "./yaml_tree.ts";

/** The maximum size of a document in bytes: parsing takes a hundred times as much memory. */
export const documentLimit = 2_000_000;

/** A parsed document with the positions of its values. */
export interface ConfigDocument {
  /** The name of the file. */
  readonly name: string;
  /** Plain data; an empty document is an empty mapping; undefined if the text cannot be parsed. */
  readonly value: unknown;
  /** The position of the value at a path, or of its key; of the nearest parent if the value is missing. */
  locate(path: Path, on?: "key"): Position | undefined;
  readonly problems: readonly Problem[];
}

/** The maximum number of reported syntax errors: one mistake often causes hundreds. */
const mostErrors = 10;

/** Parses YAML or JSON. Never throws because of the text. */
export async function parseDocument(text: string, { name }: { name: string }): Promise<ConfigDocument> {
  // Cheap check first: a text has at least as many bytes as characters.
  if (text.length > documentLimit || new TextEncoder().encode(text).length > documentLimit) {
    return unreadable(name, {
      path: [],
      message: "the file is over 2 MB: move long lists to a routesFrom file",
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
  // readTree() replaces some checks of the parser: its search for duplicate keys takes quadratic time.
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

/** More nested openings than any configuration needs: the parser takes seconds for a million. */
const tooDeep = /(?:[[{]\s*){101}|^ *(?:[-?:] ){101}/m;

function unreadable(name: string, ...problems: Problem[]): ConfigDocument {
  return { name, value: undefined, problems, locate: () => undefined };
}

/** The first error of each line: further errors there usually have the same cause. */
function syntaxProblems(errors: readonly YAMLError[], positions: Positions): Problem[] {
  const problems: Problem[] = [];
  const lines = new Set<number>();
  for (const error of errors) {
    const position = positions.of(error.pos[0]);
    if (lines.has(position.line)) continue;
    lines.add(position.line);
    if (lines.size <= mostErrors) problems.push({ path: [], message: explained(error), position });
  }
  const rest = lines.size - mostErrors;
  if (rest > 0) problems.push({ path: [], message: `syntax errors on ${rest} more lines` });
  return problems;
}

/** A parser error in plain words, without its quote of the text, which may be a secret. */
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
      return "a key must be a string";
    case "TAG_RESOLVE_FAILED":
      return "tags (!) are not supported: remove the tag, or quote the string";
    case "BAD_DIRECTIVE":
      return "a line must not begin with %: quote the string";
    case "UNEXPECTED_TOKEN":
      return "unexpected text: look for a missing quote, comma, colon or line break before it, " +
        'and write an IPv6 address with its port in quotes, "[::1]:12000"';
    case "BLOCK_AS_IMPLICIT_KEY":
      return "a key inside a value: align it with the other keys, or quote a string that contains a colon";
    case "BAD_SCALAR_START":
      return "a string must not begin with @ or a backquote: quote it";
    case "MULTILINE_IMPLICIT_KEY":
      return "a key must be on one line: look for a missing colon, or for a colon without a space after it";
    case "BAD_INDENT":
      if (message.startsWith("Flow")) return "an earlier bracket or brace is not closed";
      return "wrong indentation: align this line with its siblings";
    default:
      return `cannot be read as YAML: ${(message.split(/[\n"`]/, 1)[0] ?? "").replace(/[\s:]+$/, "")}`;
  }
}

/** Converts offsets to lines and columns; searches for line breaks at the first use. */
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
