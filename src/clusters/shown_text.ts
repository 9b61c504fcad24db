import { maskedUrl } from "../config/mod.ts";

/** Formats an untrusted value for messages: short, on one line, without passwords and control characters. */
export function shownText(value: unknown): string {
  if (typeof value === "string") {
    const text = maskedUrl(value.slice(0, 2000)).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "?");
    return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
  }
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "an object";
  return value === null || value === undefined ? "nothing" : String(value);
}
