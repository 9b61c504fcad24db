import { withEscapes } from "../../core/mod.ts";
const odd = /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Whether a text has characters that a terminal obeys, or that turn lines round, and that JSON leaves as they are. */
export function isOdd(text: unknown): boolean {
  return typeof text === "string" && text.search(odd) >= 0;
}

/** JSON, or YAML in double quotes, with these characters as escapes: it still says the same. */
export function escaped(text: string): string {
  return withEscapes(text, odd);
}
