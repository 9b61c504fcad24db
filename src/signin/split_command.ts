/**
 * Splits a command line into words like a POSIX shell, without expansions; undefined for an unclosed quote.
 */
export function splitCommand(
  line: string,
  { escapes = true }: { escapes?: boolean } = {},
): readonly string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  let quote: string | undefined;
  for (let at = 0; at < line.length; at++) {
    const char = line.charAt(at);
    if (escapes && char === "\\" && quote !== "'" && at + 1 < line.length) {
      const next = line.charAt(++at);
      const isEscape = quote === undefined || next === '"' || next === "\\" || next === "$" || next === "`";
      word = (word ?? "") + (isEscape ? next : char + next);
    } else if (char === quote) {
      quote = undefined;
    } else if (quote === undefined && (char === '"' || char === "'")) {
      quote = char;
      word ??= "";
    } else if (quote === undefined && /\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else {
      word = (word ?? "") + char;
    }
  }
  if (quote !== undefined) return undefined;
  return word === undefined ? words : [...words, word];
}
