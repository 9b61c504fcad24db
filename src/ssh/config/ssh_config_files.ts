import type { Clock } from "../../core/mod.ts";
import { describe } from "../../words/mod.ts";
import { type FileInfo, type Files, readSettled } from "../../world/mod.ts";
import { parseSshConfig, type SshConfigLine } from "./language/ssh_config_lines.ts";
import type { SshConfigDeps } from "./ssh_config_deps.ts";

/** The maximum size of a file of the ssh configuration. */
const fileLimit = 4 * 1024 * 1024;

/** A file of the ssh configuration: its lines, or the reason why it cannot be used. */
export type SshConfigFile =
  | { readonly lines: readonly SshConfigLine[]; readonly writers: SshConfigWriters }
  | { readonly isMissing: true }
  | { readonly isDirectory: true }
  | { readonly fault: string };

/** Who can write to a file, other than root. */
export type SshConfigWriters = "owner" | "group" | "others";

/**
 * The configuration at the time of reading; any difference requires a reload. Excludes files that are still
 * being read.
 */
export interface SshConfigContents {
  /** Every file that was read or looked for. A missing or unreadable file has no text. */
  readonly texts: ReadonlyMap<string, string | undefined>;
  /** The file names in every directory that a pattern of `Include` searched. */
  readonly listings: ReadonlyMap<string, readonly string[]>;
}

/** The files of an ssh configuration, each read once. */
export class SshConfigFiles {
  readonly #files: Pick<Files, "read" | "list" | "info">;
  readonly #clock: Clock;
  readonly #uid: number | undefined;
  readonly #read = new Map<string, Promise<SshConfigFile>>();
  /** The texts of the files read so far. */
  readonly #texts = new Map<string, string | undefined>();
  /** Undefined while the directory is being read. */
  readonly #listed = new Map<string, readonly string[] | undefined>();

  constructor({ files, clock, uid }: Pick<SshConfigDeps, "files" | "clock" | "uid">) {
    this.#files = files;
    this.#clock = clock;
    this.#uid = uid;
  }

  /** Every file that was read or looked for. */
  get paths(): readonly string[] {
    return [...this.#read.keys()];
  }

  /** Every directory that a pattern of `Include` searched. */
  get directories(): readonly string[] {
    return [...this.#listed.keys()];
  }

  get contents(): SshConfigContents {
    const listings = [...this.#listed].flatMap(([path, names]) => names ? [[path, names] as const] : []);
    return { texts: new Map(this.#texts), listings: new Map(listings) };
  }

  /** Reads a file; never rejects, but returns the reason for an unreadable file. */
  load(path: string): Promise<SshConfigFile> {
    const before = this.#read.get(path);
    if (before) return before;
    const loading = this.#load(path).catch((error): SshConfigFile => ({ fault: describe(error) }))
      .finally(() => this.#texts.set(path, this.#texts.get(path)));
    this.#read.set(path, loading);
    return loading;
  }

  /**
   * Returns the files that a pattern of `Include` matches, in order. Like glob(3), it skips hidden files
   * unless the pattern names them.
   */
  async matching(pattern: string): Promise<readonly string[]> {
    const drive = /^[A-Za-z]:(?=\/)/.exec(pattern)?.[0] ?? "";
    let found = [drive];
    for (const segment of pattern.slice(drive.length).split("/").filter((part) => part !== "")) {
      const next: string[] = [];
      for (const directory of found) {
        if (!/[*?[\\]/.test(segment)) next.push(`${directory}/${segment}`);
        else next.push(...await this.#namesIn(directory, segment));
      }
      found = next;
    }
    // The root has no segment.
    return found.map((path) => path || "/");
  }

  async #load(path: string): Promise<SshConfigFile> {
    const info = await this.#files.info(path);
    if (!info) return { isMissing: true };
    if (info.kind === "directory") return { isDirectory: true };
    // Reading a pipe might never end. /dev/null is allowed: people use it as an empty file.
    if (info.kind === "other" && path !== "/dev/null") return { fault: "the path is not a regular file" };
    const from = { files: this.#files, clock: this.#clock };
    const bytes = await readSettled(path, from, () => this.#files.read(path, { limit: fileLimit }));
    if (info.kind === "file") this.#texts.set(path, new TextDecoder().decode(bytes));
    const lines = parseSshConfig(decoded(bytes));
    return { lines, writers: path === "/dev/null" ? "owner" : this.#writers(info) };
  }

  #writers({ owner, mode = 0 }: FileInfo): SshConfigWriters {
    const isForeign = this.#uid !== undefined && owner !== undefined && owner !== 0 && owner !== this.#uid;
    if (isForeign || (mode & 0o002) !== 0) return "others";
    return (mode & 0o020) === 0 ? "owner" : "group";
  }

  async #namesIn(directory: string, segment: string): Promise<string[]> {
    const pattern = globPattern(segment);
    if (!pattern) return [];
    const names = await this.#list(directory || "/");
    return names
      .filter((name) => pattern.test(name) && (!name.startsWith(".") || segment.startsWith(".")))
      .sort((a, b) => a < b ? -1 : 1)
      .map((name) => `${directory}/${name}`);
  }

  async #list(directory: string): Promise<readonly string[]> {
    if (!this.#listed.has(directory)) this.#listed.set(directory, undefined);
    try {
      const names = await this.#files.list(directory);
      this.#listed.set(directory, names);
      return names;
    } catch (error) {
      this.#listed.set(directory, []);
      const info = await this.#files.info(directory);
      // A pattern without matches is valid; a directory that cannot be read may hide files.
      if (info?.kind !== "directory") return [];
      throw error;
    }
  }
}

/** Decodes without failing: ssh reads bytes, and a comment may have another encoding. */
function decoded(bytes: Uint8Array<ArrayBuffer>): string {
  const text = new TextDecoder().decode(bytes);
  return text.includes("\uFFFD") ? new TextDecoder("latin1").decode(bytes) : text;
}

/** Translates one path segment of a glob(3) pattern; undefined when the segment matches nothing. */
function globPattern(segment: string): RegExp | undefined {
  let source = "";
  for (let at = 0; at < segment.length; at++) {
    const char = segment[at] ?? "";
    if (char === "*") source += source.endsWith(".*") ? "" : ".*";
    else if (char === "?") source += ".";
    else if (char === "[" && segment.indexOf("]", at + 2) > 0) {
      const end = segment.indexOf("]", at + 2);
      const inside = segment.slice(at + 1, end).replace(/^!/, "^").replace(/[\\[\]]/g, "\\$&");
      source += `[${inside}]`;
      at = end;
    } else source += (char === "\\" ? segment[++at] ?? "\\" : char).replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
  }
  try {
    return new RegExp(`^${source}$`, "s");
  } catch {
    // An invalid range such as [z-a] matches nothing in glob(3) either.
    return undefined;
  }
}
