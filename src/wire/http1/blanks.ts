/**
 * The text without spaces and tabs around it (OWS in RFC 9110, section 5.6.3). `String.trim()` also removes the
 * byte a0, which ends some UTF-8 characters and which other parties do not take for a space.
 */
export function trimmed(text: string, start = 0, end = text.length): string {
  let from = start;
  while (from < end && isBlank(text.charCodeAt(from))) from++;
  return text.slice(from, blanksBefore(text, from, end));
}

/** The start of the whitespace before `end`, not before `start`. */
export function blanksBefore(text: string, start: number, end: number): number {
  let at = end;
  while (at > start && isBlank(text.charCodeAt(at - 1))) at--;
  return at;
}

/** Whether a character is a space or a tab. */
export function isBlank(code: number): boolean {
  return code === 32 || code === 9;
}
