/** The first word of a text and the rest. */
export interface FirstWord {
  readonly word: string;
  /** Undefined after the last word. */
  readonly rest: string | undefined;
}

/**
 * Takes one word as OpenSSH's `strdelim` does. The word ends at a blank, or at one `=` with blanks around it,
 * and may be in double quotes. Returns undefined when a quote is not closed.
 */
export function firstWord(text: string): FirstWord | undefined {
  const end = text.search(/[ \t\r\n"=]/);
  if (end < 0) return { word: text, rest: undefined };
  if (text[end] === '"') {
    const close = text.indexOf('"', end + 1);
    if (close < 0) return undefined;
    return { word: text.slice(0, end) + text.slice(end + 1, close), rest: afterBlanks(text, close + 1) };
  }
  let rest = afterBlanks(text, end + 1);
  // The gap contains at most one equals sign, at any place.
  if (text[end] !== "=" && rest.startsWith("=")) rest = afterBlanks(rest, 1);
  return { word: text.slice(0, end), rest };
}

/** Splits a text by the rules of `firstWord`, up to a comment; undefined when a quote is not closed. */
export function delimitedWords(text: string): string[] | undefined {
  const words: string[] = [];
  for (let rest: string | undefined = text; rest !== undefined && rest !== "";) {
    const first = firstWord(rest);
    if (!first) return undefined;
    if (first.word.startsWith("#")) break;
    words.push(first.word);
    rest = first.rest;
  }
  return words;
}

/**
 * Splits the arguments of a line as OpenSSH's `argv_split` does. It knows both kinds of quotes, and
 * backslashes before quotes, backslashes and blanks; `#` at the start of a word ends the line. Returns
 * undefined when a quote is not closed.
 */
export function argumentWords(text: string): string[] | undefined {
  const words: string[] = [];
  let at = 0;
  while (true) {
    while (text[at] === " " || text[at] === "\t") at++;
    if (at >= text.length || text[at] === "#") return words;
    const word = argumentAt(text, at);
    if (!word) return undefined;
    words.push(word.text);
    at = word.end;
  }
}

function argumentAt(text: string, start: number): { text: string; end: number } | undefined {
  const parts: string[] = [];
  let quote = "";
  let at = start;
  for (; at < text.length; at++) {
    const char = text[at] ?? "";
    const next = text[at + 1] ?? "";
    if (char === "\\" && (next === "'" || next === '"' || next === "\\" || (quote === "" && next === " "))) {
      parts.push(next);
      at++;
    } else if (quote === "" && (char === " " || char === "\t")) break;
    else if (quote === "" && (char === '"' || char === "'")) quote = char;
    else if (char === quote) quote = "";
    else parts.push(char);
  }
  return quote === "" ? { text: parts.join(""), end: at } : undefined;
}

function afterBlanks(text: string, from: number): string {
  let at = from;
  while (" \t\r\n".includes(text[at] ?? "none")) at++;
  return text.slice(at);
}
