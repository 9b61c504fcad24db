import { argumentWords, firstWord } from "./ssh_config_words.ts";

/** One line of an ssh configuration that says something. */
export interface SshConfigLine {
  /** From 1. */
  readonly line: number;
  /** The keyword in lower case. */
  readonly keyword: string;
  /** The keyword as it stands there. */
  readonly written: string;
  /** Everything behind the keyword, for commands and conditions. */
  readonly rest: string;
  readonly arguments: readonly string[];
  /** What is wrong with the line as a whole. */
  readonly fault?: string;
}

/** Reads an ssh configuration: comments and empty lines are left out, and no text makes it fail. */
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
  if (written === "") return faulty(line, written, "it begins without a keyword");
  const keyword = written.toLowerCase();
  if (rest === "") return faulty(line, written, "it has no argument");
  const words = argumentWords(rest);
  if (!words) return { ...faulty(line, written, "a quote is not closed"), rest };
  return { line, keyword, written, rest, arguments: words };
}

/** A form feed is a blank at the end of a line only. No regular expression: a line may be a megabyte of blanks. */
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
