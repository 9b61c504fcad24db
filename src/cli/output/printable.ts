/** What a client or a file said, made harmless: a control character could take over the terminal. */
export function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}

/** The same for a text of several lines, which keep their ends. */
export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}
