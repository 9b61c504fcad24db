import { asPosternError, describe, PosternError } from "../../words/mod.ts";
import type { Clock } from "../../core/mod.ts";
import type { Files } from "../../world/mod.ts";
import { type HmacSha1, matchesKnownHost } from "./known_host_names.ts";
import {
  type KnownHostEntry,
  type KnownHosts,
  type KnownHostsProblem,
  parseKnownHosts,
} from "./known_hosts.ts";
import { parsePublicKey, type SshPublicKey } from "../keys/ssh_keys.ts";
import type { SshConfigProblem } from "../config/ssh_host.ts";

/** A line for a host, with its file. */
export interface KnownHostMatch {
  readonly file: string;
  readonly line: number;
  readonly kind: KnownHostEntry["kind"];
  readonly key: SshPublicKey;
}

/** The lines of several files for a name. */
export interface KnownHostMatches {
  /** In the order of files and lines. */
  readonly matches: readonly KnownHostMatch[];
  /** The errors of files that exist but cannot be read; a missing file counts as empty. */
  readonly failures: readonly PosternError[];
}

interface Read {
  readonly stamp: string;
  readonly hosts: KnownHosts;
  /** A cache, because hashing is slow and the same few names are looked up repeatedly. */
  readonly byName: Map<string, readonly KnownHostMatch[]>;
}

/** The known_hosts files: read on first use, and again after a modification. */
export class KnownHostsFiles {
  readonly #files: Files;
  readonly #clock: Clock;
  readonly #read = new Map<string, Read>();

  constructor({ files, clock }: { readonly files: Files; readonly clock: Clock }) {
    this.#files = files;
    this.#clock = clock;
  }

  async matches(paths: readonly string[], name: string): Promise<KnownHostMatches> {
    const hmacSha1 = await loadHmacSha1();
    const matches: KnownHostMatch[] = [];
    const failures: PosternError[] = [];
    for (const path of paths) {
      try {
        const read = await this.#fresh(path);
        if (read) matches.push(...await this.#matchesOf(read, { path, name, hmacSha1 }));
      } catch (error) {
        failures.push(asPosternError(error));
      }
    }
    return { matches, failures };
  }

  /** Returns the invalid lines and the unreadable files. */
  async problems(paths: readonly string[], option: string): Promise<SshConfigProblem[]> {
    const found: SshConfigProblem[] = [];
    for (const file of paths) {
      try {
        const read = await this.#fresh(file);
        for (const { line, message } of read ? problemsOf(read.hosts) : []) {
          found.push({ severity: "note", file, line, option, message: `ignored line: ${message}` });
        }
      } catch (error) {
        found.push({ severity: "note", file, line: 0, option, message: asPosternError(error).message });
      }
    }
    return found;
  }

  /** Reads a file again on next use, even if its modification time is unchanged. */
  forget(path: string): void {
    this.#read.delete(path);
  }

  /** Reads every file again on next use. */
  forgetAll(): void {
    this.#read.clear();
  }

  /** Parses the keys of matching lines only, and skips invalid keys, as ssh does. */
  async #matchesOf(
    { hosts, byName }: Read,
    { path, name, hmacSha1 }: { path: string; name: string; hmacSha1: HmacSha1 },
  ): Promise<readonly KnownHostMatch[]> {
    const known = byName.get(name);
    if (known) return known;
    const matches: KnownHostMatch[] = [];
    let hashes = 0;
    for (const entry of hosts.entries) {
      if ("salt" in entry.names && ++hashes % mostHashes === 0) {
        await new Promise<void>((resolve) => this.#clock.after(0, resolve));
      }
      if (!matchesKnownHost(entry.names, name, hmacSha1)) continue;
      const key = keyOf(entry);
      if (typeof key !== "string") matches.push({ file: path, line: entry.line, kind: entry.kind, key });
    }
    byName.set(name, matches);
    return matches;
  }

  async #fresh(path: string): Promise<Read | undefined> {
    if (remembersNothing(path)) return undefined;
    const info = await this.#files.info(path);
    if (!info) {
      this.#read.delete(path);
      return undefined;
    }
    // Reading a pipe might never end.
    if (info.kind !== "file") {
      throw new PosternError("config", `Cannot read "${path}": it is not a regular file`, {
        hint: "name a file for UserKnownHostsFile and GlobalKnownHostsFile, or none",
      });
    }
    const stamp = `${info.modified}/${info.size}`;
    const known = this.#read.get(path);
    if (known?.stamp === stamp) return known;
    const bytes = await this.#files.read(path, { limit: mostBytes });
    const read = { stamp, hosts: parseKnownHosts(bytes), byName: new Map() };
    this.#read.set(path, read);
    return read;
  }
}

/** Whether a path means no file: `none`, or a file that is always empty. */
export function remembersNothing(path: string): boolean {
  return path === "none" || path === "/dev/null";
}

/** Maximum size of a file in bytes: about 80,000 lines. */
const mostBytes = 16 * 1024 * 1024;

/** How many hashes to compute before yielding to the event loop: about 10 ms of work. */
const mostHashes = 500;

/** Parses the key of a line; returns an error text for an invalid key. */
function keyOf({ type, base64 }: KnownHostEntry): SshPublicKey | string {
  try {
    return parsePublicKey(type, base64);
  } catch (error) {
    return describe(error);
  }
}

function problemsOf({ entries, problems }: KnownHosts): readonly KnownHostsProblem[] {
  const unreadable = entries.flatMap((entry) => {
    const message = keyOf(entry);
    return typeof message === "string" ? [{ line: entry.line, message }] : [];
  });
  return [...problems, ...unreadable].sort((one, other) => one.line - other.line);
}

/**
 * Loads node's HMAC, which is synchronous: WebCrypto would yield to the event loop for each of thousands of
 * lines.
 */
export async function loadHmacSha1(): Promise<HmacSha1> {
  const { createHmac } = await import("node:crypto");
  return (key, message) => createHmac("sha1", key).update(message).digest();
}
