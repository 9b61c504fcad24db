import { argumentWords, firstWord } from "./ssh_config_words.ts";

/** A line of an ssh configuration that is neither empty nor a comment. */
export interface SshConfigLine {
  /** Counted from 1. */
  readonly line: number;
  /** The keyword in lower case. */
  readonly keyword: string;
  /** The keyword as written. */
  readonly written: string;
  /** Everything after the keyword, for commands and conditions. */
  readonly rest: string;
  readonly arguments: readonly string[];
  /** The fault of a line that cannot be read at all. */
  readonly fault?: string;
}

/** Reads an ssh configuration without comments and empty lines; accepts any text. */
export function parseSshConfig(text: string): SshConfigLine[] {
  const lines: SshConfigLine[] = [];
  let number = 0;
  for (const line of text.split("\n")) {
    const read = parseLine(line, ++number);
    if (read) lines.push(read);
  }
  return lines;
}

function parseLine(raw: string, line: number): SshConfigLine | undefined {
  const end = raw.indexOf("\0");
  const text = trimmed(end < 0 ? raw : raw.slice(0, end));
  if (text === "" || text.startsWith("#")) return undefined;
  const first = firstWord(text);
  if (!first) return faulty(line, text.slice(0, 32), "a quote is not closed");
  const { word: written, rest = "" } = first;
  if (written === "") return faulty(line, written, "the line has no keyword");
  const keyword = written.toLowerCase();
  if (rest === "") return faulty(line, written, "the option has no argument");
  const words = argumentWords(rest);
  if (!words) return { ...faulty(line, written, "a quote is not closed"), rest };
  return { line, keyword, written, rest, arguments: words };
}

/**
 * Trims the line. A form feed counts as a blank only at the end. No regular expression: a line may hold a
 * megabyte of blanks.
 */
function trimmed(text: string): string {
  let end = text.length;
  while (end > 0 && " \t\r\n\f".includes(text[end - 1] ?? "")) end--;
  let start = 0;
  while (start < end && " \t\r".includes(text[start] ?? "")) start++;
  return text.slice(start, end);
}

function faulty(line: number, written: string, fault: string): SshConfigLine {
  return { line, keyword: written.toLowerCase(), written, rest: "", arguments: [], fault };
}
