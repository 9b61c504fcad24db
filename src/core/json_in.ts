/**
 * The value of a text of JSON; undefined where it is none, which the caller tells: the parser's own words would quote
 * what it has read, and that may hold a secret.
 */
export function jsonIn(text: string | Uint8Array): unknown {
  try {
    return JSON.parse(typeof text === "string" ? text : new TextDecoder().decode(text));
  } catch {
    return undefined;
  }
}
