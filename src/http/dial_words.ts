import type { ErrorCode } from "../words/mod.ts";

/**
 * Maps an error text to a code, for protocols without error codes. Our own error texts that cross such a
 * protocol must match, too. The words are those of Go programs, which other implementations also look for.
 */
export function dialCode(text: string): ErrorCode | undefined {
  return words.find(([, pattern]) => pattern.test(text))?.[0];
}

const words: readonly (readonly [ErrorCode, RegExp])[] = [
  ["refused", /connection refused/i],
  ["name_not_found", /no such host|server misbehaving|name or service not known|cannot be resolved/i],
  ["timeout", /i\/o timeout|timed? ?out|deadline/i],
  ["not_allowed", /not allowed|not permitted|not supported/i],
];
