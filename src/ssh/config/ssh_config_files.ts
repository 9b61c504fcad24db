import type { Clock } from "../../core/mod.ts";
import { describe } from "../../words/mod.ts";
import { type FileInfo, type Files, readSettled } from "../../world/mod.ts";
import { parseSshConfig, type SshConfigLine } from "./language/ssh_config_lines.ts";
import type { SshConfigDeps } from "./ssh_config_deps.ts";

/** The most a file of the ssh configuration may hold. */
const fileLimit = 4 * 1024 * 1024;

/** A file of the ssh configuration: its lines, that it is missing, or why it cannot be used. */
export type SshConfigFile =
  | { readonly lines: readonly SshConfigLine[]; readonly writers: SshConfigWriters }
  | { readonly isMissing: true }
  | { readonly isDirectory: true }
  | { readonly fault: string };

/** Who may write a file besides its user and root. */
export type SshConfigWriters = "nobody" | "group" | "others";

/** What a configuration was when it was read: a change of any of it asks for a reload. What is being read is not in it. */
export interface SshConfigContents {
  /** Every file that was looked for; those that are missing or cannot be read have no text. */
  readonly texts: ReadonlyMap<string, string | undefined>;
  /** The names in every directory in which files were looked for by a pattern. */
  readonly listings: ReadonlyMap<string, readonly string[]>;
}

/** The files of an ssh configuration, each read once. */
export class SshConfigFiles {
  readonly #files: Pick<Files, "read" | "list" | "info">;
  readonly #clock: Clock;
  readonly #uid: number | undefined;
  readonly #read = new Map<string, Promise<SshConfigFile>>();
  /** Of the files that have been read. */
  readonly #texts = new Map<string, string | undefined>();
  /** Undefined is being read. */
  readonly #listed = new Map<string, readonly string[] | undefined>();

  constructor({ files, clock, uid }: Pick<SshConfigDeps, "files" | "clock" | "uid">) {
    this.#files = files;
    this.#clock = clock;
    this.#uid = uid;
  }

  /** Every file that was looked for, the missing ones too. */
  get paths(): readonly string[] {
    return [...this.#read.keys()];
  }

  /** Every directory in which files were looked for by a pattern. */
  get directories(): readonly string[] {
    return [...this.#listed.keys()];
  }

  get contents(): SshConfigContents {
    const listings = [...this.#listed].flatMap(([path, names]) => names ? [[path, names] as const] : []);
    return { texts: new Map(this.#texts), listings: new Map(listings) };
  }

  /** Never fails: a file that cannot be read says so. */
  load(path: string): Promise<SshConfigFile> {
    const before = this.#read.get(path);
    if (before) return before;
    const loading = this.#load(path).catch((error): SshConfigFile => ({ fault: describe(error) }))
      .finally(() => this.#texts.set(path, this.#texts.get(path)));
    this.#read.set(path, loading);
    return loading;
  }

  /** The files that a pattern of `Include` means, in order; as glob(3), without hidden ones unless asked for. */
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
    // The root alone has no segment.
    return found.map((path) => path || "/");
  }

  async #load(path: string): Promise<SshConfigFile> {
    const info = await this.#files.info(path);
    if (!info) return { isMissing: true };
    if (info.kind === "directory") return { isDirectory: true };
    // A pipe might never end; this one thing that is no file is what people write for nothing.
    if (info.kind === "other" && path !== "/dev/null") return { fault: "it is not a file" };
    const from = { files: this.#files, clock: this.#clock };
    const bytes = await readSettled(path, from, () => this.#files.read(path, { limit: fileLimit }));
    if (info.kind === "file") this.#texts.set(path, new TextDecoder().decode(bytes));
    const lines = parseSshConfig(decoded(bytes));
    return { lines, writers: path === "/dev/null" ? "nobody" : this.#writers(info) };
  }

  #writers({ owner, mode = 0 }: FileInfo): SshConfigWriters {
    const isForeign = this.#uid !== undefined && owner !== undefined && owner !== 0 && owner !== this.#uid;
    if (isForeign || (mode & 0o002) !== 0) return "others";
    return (mode & 0o020) === 0 ? "nobody" : "group";
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
      // A pattern that leads nowhere means no files; a directory that cannot be read may hide some.
      if (info?.kind !== "directory") return [];
      throw error;
    }
  }
}

/** ssh reads bytes: a comment in an old encoding is no reason to fail. */
function decoded(bytes: Uint8Array<ArrayBuffer>): string {
  const text = new TextDecoder().decode(bytes);
  return text.includes("\uFFFD") ? new TextDecoder("latin1").decode(bytes) : text;
}

/** A glob(3) pattern of one path segment; undefined is one that matches nothing. */
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
    // A range such as [z-a]: glob(3) finds nothing by it either.
    return undefined;
  }
}
