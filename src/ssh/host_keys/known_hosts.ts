import {
  bytesAsText,
  hashKnownHost,
  type HmacSha1,
  isPlainKnownHost,
  type KnownHostNames,
  lowerCaseName,
  parseKnownHostNames,
} from "./known_host_names.ts";
import { formatPublicKey, type SshPublicKey } from "../keys/ssh_keys.ts";

/** A line of `known_hosts` (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT). */
export interface KnownHostEntry {
  /** Counted from 1. */
  readonly line: number;
  /** `trusted` for a line without marker; the others stand for `@revoked` and `@cert-authority`. */
  readonly kind: "trusted" | "revoked" | "authority";
  readonly names: KnownHostNames;
  /**
   * Not parsed yet: parsing the keys of a thousand other hosts takes longer than finding the line. See
   * `parsePublicKey`.
   */
  readonly type: string;
  readonly base64: string;
}

/** An invalid line, which postern ignores as ssh does. */
export interface KnownHostsProblem {
  readonly line: number;
  readonly message: string;
}

/** The contents of a file. */
export interface KnownHosts {
  readonly entries: readonly KnownHostEntry[];
  readonly problems: readonly KnownHostsProblem[];
}

/** Reads a whole file except for its keys; accepts any bytes. */
export function parseKnownHosts(bytes: Uint8Array<ArrayBuffer>): KnownHosts {
  const entries: KnownHostEntry[] = [];
  const problems: KnownHostsProblem[] = [];
  const lines = bytesAsText(bytes).split("\n");
  for (const [index, text] of lines.entries()) {
    const line = index + 1;
    const read = parseLine(text);
    if (typeof read === "string") problems.push({ line, message: read });
    else if (read) entries.push({ line, ...read });
  }
  return { entries, problems };
}

export interface KnownHostLine {
  readonly name: string;
  readonly key: SshPublicKey;
  /** Hashes the name with 20 random bytes. */
  readonly hash?: { readonly salt: Uint8Array<ArrayBuffer>; readonly hmacSha1: HmacSha1 };
}

/** Formats a line that trusts a key for exactly one name, with its newline. */
export function formatKnownHost({ name, key, hash }: KnownHostLine): string {
  if (!hash && !isPlainKnownHost(name)) throw new TypeError("this name must be hashed");
  const names = hash ? hashKnownHost(name, hash.salt, hash.hmacSha1) : lowerCaseName(name);
  return `${names} ${formatPublicKey(key)}\n`;
}

const markers: Readonly<Record<string, KnownHostEntry["kind"]>> = {
  "@revoked": "revoked",
  "@cert-authority": "authority",
};

/**
 * Parses `[MARKER] NAMES TYPE KEY [COMMENT]`. Returns an error text for an invalid line, undefined for an
 * empty line or a comment.
 */
function parseLine(text: string): Omit<KnownHostEntry, "line"> | string | undefined {
  // As in C, a zero byte ends the line. Files edited on Windows have carriage returns.
  const words = (text.split("\0")[0] ?? "").replace(/\r+$/, "").split(/[ \t]+/, 6).filter((word) =>
    word !== ""
  );
  const first = words[0];
  if (first === undefined || first.startsWith("#")) return undefined;
  let kind: KnownHostEntry["kind"] = "trusted";
  if (first.startsWith("@")) {
    const marked = Object.hasOwn(markers, first) ? markers[first] : undefined;
    if (!marked) return "the marker is neither @revoked nor @cert-authority";
    kind = marked;
    words.shift();
  }
  const [hosts = "", type, base64] = words;
  if (hosts.startsWith("@")) return "the line has two markers";
  if (type === undefined || base64 === undefined) return "the line has no key";
  const names = parseKnownHostNames(hosts);
  if (!names) return "the hashed name is invalid";
  return { kind, names, type, base64 };
}
