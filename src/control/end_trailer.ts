import { errorInfo } from "./error_info.ts";

/** The trailer of a stream whose target failed: an `ErrorInfo` as JSON. A stream without it ended normally. */
export const endTrailer = "postern-end";

/** A sentence must fit into 16 KiB of trailers together with its hint, also if each character is escaped. */
const longest = 1000;

/** Formats an error for the trailer, in ASCII. */
export function endTrailerText(error: unknown): string {
  const { message, hint, ...rest } = errorInfo(error);
  const info = { ...rest, message: message.slice(0, longest), ...(hint && { hint: hint.slice(0, longest) }) };
  return JSON.stringify(info).replace(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
