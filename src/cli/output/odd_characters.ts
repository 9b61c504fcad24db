import { withEscapes } from "../../core/mod.ts";
const odd = /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Whether a text contains terminal control or bidirectional characters that JSON does not escape. */
export function isOdd(text: unknown): boolean {
  return typeof text === "string" && text.search(odd) >= 0;
}

/** Escapes these characters in JSON or double-quoted YAML; the value stays the same. */
export function escaped(text: string): string {
  return withEscapes(text, odd);
}
