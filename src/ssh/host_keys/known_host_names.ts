import { usualSshPort } from "../config/language/ssh_config_numbers.ts";
import { matchesSshPattern } from "../config/language/ssh_config_pattern.ts";
import { decodePaddedBase64 } from "../keys/ssh_keys.ts";
import { encodeBase64 } from "../../core/mod.ts";

/** HMAC-SHA1; the caller provides it because this room has none. */
export type HmacSha1 = (key: Uint8Array<ArrayBuffer>, message: Uint8Array<ArrayBuffer>) => Uint8Array;

/** The first field of a `known_hosts` line: one hashed name, or a list of patterns. */
export type KnownHostNames =
  | { readonly salt: Uint8Array<ArrayBuffer>; readonly text: string }
  | { readonly patterns: readonly KnownHostPattern[] };

/** `*.example.com`, or `!web.example.com`, in lower case. */
export interface KnownHostPattern {
  readonly text: string;
  readonly isNegated: boolean;
}

/** The name for looking up a host's key; includes the port unless it is 22. */
export function knownHostName(host: string, port: number): string {
  return port === usualSshPort ? host : `[${host}]:${port}`;
}

/** Reads the names of a line, decoded with `bytesAsText`; undefined for an invalid hash. */
export function parseKnownHostNames(text: string): KnownHostNames | undefined {
  if (text.startsWith("|")) {
    const match = /^\|1\|([^|]+)\|([^|]+)$/.exec(text);
    const [salt, hash] = [decodePaddedBase64(match?.[1] ?? ""), decodePaddedBase64(match?.[2] ?? "")];
    return salt?.length === 20 && hash?.length === 20 ? { salt, text } : undefined;
  }
  const patterns = text.split(",").map((part) => {
    const isNegated = part.startsWith("!");
    return { text: lowerCaseName(isNegated ? part.slice(1) : part), isNegated };
  });
  // ssh ignores the whole list when a pattern overflows its buffer.
  return { patterns: patterns.some(({ text }) => text.length >= 1023) ? [] : patterns };
}

/**
 * Whether a line applies to this name (from `knownHostName`, or an alias): a pattern matches, and no negated
 * one does.
 */
export function matchesKnownHost(names: KnownHostNames, name: string, hmacSha1: HmacSha1): boolean {
  const bytes = new TextEncoder().encode(lowerCaseName(name));
  if ("salt" in names) return hashedName(bytes, names.salt, hmacSha1) === names.text;
  const text = bytesAsText(bytes);
  let isMatched = false;
  for (const pattern of names.patterns) {
    if (!matchesSshPattern(text, pattern.text)) continue;
    if (pattern.isNegated) return false;
    isMatched = true;
  }
  return isMatched;
}

/** Hashes a name as `HashKnownHosts` does, so that a stolen file does not reveal the hosts. */
export function hashKnownHost(name: string, salt: Uint8Array<ArrayBuffer>, hmacSha1: HmacSha1): string {
  return hashedName(new TextEncoder().encode(lowerCaseName(name)), salt, hmacSha1);
}

/** Whether a plainly written name matches itself only. */
export function isPlainKnownHost(name: string): boolean {
  return name !== "" && !/^[#@|!]|[\s\p{Cc}*?,]/u.test(name);
}

/** Decodes each byte to one character: ssh compares bytes, and such files are not always UTF-8. */
export function bytesAsText(bytes: Uint8Array): string {
  return new TextDecoder("latin1").decode(bytes);
}

function hashedName(
  name: Uint8Array<ArrayBuffer>,
  salt: Uint8Array<ArrayBuffer>,
  hmacSha1: HmacSha1,
): string {
  return `|1|${encodeBase64(salt)}|${encodeBase64(hmacSha1(salt, name))}`;
}

/** Lowercases ASCII letters only, as ssh does. */
export function lowerCaseName(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
