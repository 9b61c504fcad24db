import { asPosternError, type Files, PosternError } from "../../core/mod.ts";
import {
  type HmacSha1,
  type KnownHostEntry,
  type KnownHosts,
  matchesKnownHost,
  parseKnownHosts,
} from "../../wire/mod.ts";
import type { SshConfigProblem } from "./ssh_host.ts";

/** A line about a host, and where it stands. */
export interface KnownHostMatch extends KnownHostEntry {
  readonly file: string;
}

/** What several files say about a name. */
export interface KnownHostMatches {
  /** In the order of the files and of their lines. */
  readonly matches: readonly KnownHostMatch[];
  /** Files that are there and could not be read; a missing one is like an empty one. */
  readonly failures: readonly PosternError[];
}

interface Read {
  readonly stamp: string;
  readonly hosts: KnownHosts;
  /** Hashes are dear, and the same few names are asked for again and again. */
  readonly byName: Map<string, readonly KnownHostMatch[]>;
}

/** Known hosts files as they are now: read on first use, and again when they were modified. */
export class KnownHostsFiles {
  readonly #files: Files;
  readonly #read = new Map<string, Read>();

  constructor(files: Files) {
    this.#files = files;
  }

  async matches(paths: readonly string[], name: string): Promise<KnownHostMatches> {
    const hmacSha1 = await loadHmacSha1();
    const matches: KnownHostMatch[] = [];
    const failures: PosternError[] = [];
    for (const path of paths) {
      try {
        const read = await this.#fresh(path);
        if (read) matches.push(...matchesOf(read, { path, name, hmacSha1 }));
      } catch (error) {
        failures.push(asPosternError(error));
      }
    }
    return { matches, failures };
  }

  /** The lines that are ignored because they are broken, and the files that cannot be read. */
  async problems(paths: readonly string[], option: string): Promise<SshConfigProblem[]> {
    const found: SshConfigProblem[] = [];
    for (const file of paths) {
      try {
        const read = await this.#fresh(file);
        for (const { line, message } of read?.hosts.problems ?? []) {
          found.push({ severity: "note", file, line, option, message: `this line is ignored: ${message}` });
        }
      } catch (error) {
        found.push({ severity: "note", file, line: 0, option, message: asPosternError(error).message });
      }
    }
    return found;
  }

  /** Reads a file anew next time, whatever its date says. */
  forget(path: string): void {
    this.#read.delete(path);
  }

  /** Reads every file anew next time. */
  forgetAll(): void {
    this.#read.clear();
  }

  async #fresh(path: string): Promise<Read | undefined> {
    if (remembersNothing(path)) return undefined;
    const info = await this.#files.info(path);
    if (!info) {
      this.#read.delete(path);
      return undefined;
    }
    // A pipe would be waited for without end.
    if (info.kind !== "file") {
      throw new PosternError("config", `Cannot read "${path}": it is not a regular file`);
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

/** Whether a path stands for no file: `none`, or what is always empty. */
export function remembersNothing(path: string): boolean {
  return path === "none" || path === "/dev/null";
}

/** Some 80,000 lines. */
const mostBytes = 16 * 1024 * 1024;

function matchesOf(
  { hosts, byName }: Read,
  { path, name, hmacSha1 }: { path: string; name: string; hmacSha1: HmacSha1 },
): readonly KnownHostMatch[] {
  const known = byName.get(name);
  if (known) return known;
  const matches = hosts.entries
    .filter(({ names }) => matchesKnownHost(names, name, hmacSha1))
    .map((entry) => ({ ...entry, file: path }));
  byName.set(name, matches);
  return matches;
}

/** Node's, because it answers at once: WebCrypto takes a turn of the loop for each of thousands of lines. */
export async function loadHmacSha1(): Promise<HmacSha1> {
  const { createHmac } = await import("node:crypto");
  return (key, message) => createHmac("sha1", key).update(message).digest();
}
