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
  /** `trusted` has no marker; the two others are `@revoked` and `@cert-authority`. */
  readonly kind: "trusted" | "revoked" | "authority";
  readonly names: KnownHostNames;
  /** For `parsePublicKey`: reading the keys of a thousand other hosts takes longer than finding the line. */
  readonly type: string;
  readonly base64: string;
}

/** A line that is ignored, as ssh does, and why. */
export interface KnownHostsProblem {
  readonly line: number;
  readonly message: string;
}

/** What a file says. */
export interface KnownHosts {
  readonly entries: readonly KnownHostEntry[];
  readonly problems: readonly KnownHostsProblem[];
}

/** Reads a whole file but for its keys; takes any bytes. */
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
  /** Hides the name: 20 random bytes, and what to hash with. */
  readonly hash?: { readonly salt: Uint8Array<ArrayBuffer>; readonly hmacSha1: HmacSha1 };
}

/** Writes a line that trusts a key for exactly one name, with its newline. */
export function formatKnownHost({ name, key, hash }: KnownHostLine): string {
  if (!hash && !isPlainKnownHost(name)) throw new TypeError("only a hash can say this name");
  const names = hash ? hashKnownHost(name, hash.salt, hash.hmacSha1) : lowerCaseName(name);
  return `${names} ${formatPublicKey(key)}\n`;
}

const markers: Readonly<Record<string, KnownHostEntry["kind"]>> = {
  "@revoked": "revoked",
  "@cert-authority": "authority",
};

/** `[MARKER] NAMES TYPE KEY [COMMENT]`; a sentence for a broken line, undefined for an empty one or a comment. */
function parseLine(text: string): Omit<KnownHostEntry, "line"> | string | undefined {
  // As in C, a zero byte ends the line; and files that were edited elsewhere have carriage returns.
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
  if (hosts.startsWith("@")) return "it has two markers";
  if (type === undefined || base64 === undefined) return "it has no key";
  const names = parseKnownHostNames(hosts);
  if (!names) return "its hashed name cannot be read";
  return { kind, names, type, base64 };
}
