/**
 * Parses JSON; undefined for invalid text. The caller reports the error, because the parser's message quotes
 * the text, which may contain a secret.
 */
export function jsonIn(text: string | Uint8Array): unknown {
  try {
    return JSON.parse(typeof text === "string" ? text : new TextDecoder().decode(text));
  } catch {
    return undefined;
  }
}
