/** Escapes control characters in text from clients and files: they could control the terminal. */
export function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}

/** Like `printable`, but keeps line breaks. */
export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}
