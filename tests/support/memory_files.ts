import type { AppendFile, FileInfo, Files } from "../../src/world/mod.ts";
import { PosternError } from "../../src/words/mod.ts";

/** Files in memory. Each change of a file gets a time one second later. */
export class MemoryFiles implements Files {
  readonly #files = new Map<string, { bytes: Uint8Array<ArrayBuffer>; modified: number; mode: number }>();
  readonly #locked = new Set<string>();
  readonly #watchers = new Map<string, Set<() => void>>();
  /** Every path read, in order. */
  readonly reads: string[] = [];
  #time = 0;

  constructor(files: Readonly<Record<string, string>> = {}) {
    for (const [path, content] of Object.entries(files)) this.put(path, content);
  }

  /** Writes a file like another program. */
  put(path: string, content: string | Uint8Array, mode = 0o600): void {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : new Uint8Array(content);
    this.#files.set(path, { bytes, modified: this.#time += 1000, mode });
    const directory = path.slice(0, path.lastIndexOf("/"));
    for (const changed of this.#watchers.get(directory) ?? []) changed();
  }

  read(path: string, { limit = Infinity }: { limit?: number } = {}): Promise<Uint8Array<ArrayBuffer>> {
    this.reads.push(path);
    const file = this.#files.get(path);
    if (!file) return Promise.reject(new PosternError("config", `Cannot read ${path}: no such file`));
    if (file.bytes.length > limit) {
      return Promise.reject(new PosternError("config", `Cannot read ${path}: more than ${limit} bytes`));
    }
    return Promise.resolve(file.bytes.slice());
  }

  async readText(path: string, options?: { limit?: number }): Promise<string> {
    return new TextDecoder().decode(await this.read(path, options));
  }

  async readFrom(path: string, offset: number, count: number): Promise<Uint8Array<ArrayBuffer>> {
    return (await this.read(path)).slice(offset, offset + count);
  }

  async readTextIfThere(path: string, options?: { limit?: number }): Promise<string | undefined> {
    return this.#files.has(path) ? await this.readText(path, options) : undefined;
  }

  replace(path: string, content: string | Uint8Array, { mode = 0o600 } = {}): Promise<void> {
    this.put(path, content, mode);
    return Promise.resolve();
  }

  create(path: string): Promise<boolean> {
    if (this.#files.has(path)) return Promise.resolve(false);
    this.put(path, "");
    return Promise.resolve(true);
  }

  async publicDirectory(path: string): Promise<boolean> {
    return await this.info(path) === undefined;
  }

  info(path: string): Promise<FileInfo | undefined> {
    const file = this.#files.get(path);
    if (!file && [...this.#files.keys()].some((inside) => inside.startsWith(`${path}/`))) {
      const [size, modified, mode] = [0, 0, 0o700];
      return Promise.resolve({ kind: "directory", size, modified, mode, owner: undefined });
    }
    return Promise.resolve(
      file && {
        kind: "file",
        size: file.bytes.length,
        modified: file.modified,
        mode: file.mode,
        owner: undefined,
      },
    );
  }

  list(path: string): Promise<readonly string[]> {
    const names = [...this.#files.keys()].filter((file) => file.startsWith(`${path}/`));
    return Promise.resolve([
      ...new Set(names.map((file) => file.slice(path.length + 1).split("/")[0] ?? "")),
    ]);
  }

  /** Paths that other users can change, with the reason. */
  readonly distrusted = new Map<string, string>();

  async owned(path: string, kind: "directory" | "socket"): Promise<boolean> {
    const why = this.distrusted.get(path);
    if (why === undefined) return await this.info(path) !== undefined;
    const message = `Cannot trust the ${kind} "${path}": ${why}`;
    throw new PosternError("config", message, { detail: "untrusted", hint: `remove it: rm "${path}"` });
  }

  privateDirectory(): Promise<void> {
    return Promise.resolve();
  }

  remove(path: string): Promise<void> {
    this.#files.delete(path);
    return Promise.resolve();
  }

  append(path: string): Promise<AppendFile> {
    return Promise.resolve({
      write: (text) => {
        const before = new TextDecoder().decode(this.#files.get(path)?.bytes ?? new Uint8Array());
        this.put(path, before + text);
        return Promise.resolve();
      },
      [Symbol.dispose]: () => {},
    });
  }

  lock(path: string): Promise<Disposable | undefined> {
    if (this.#locked.has(path)) return Promise.resolve(undefined);
    this.#locked.add(path);
    return Promise.resolve({ [Symbol.dispose]: () => void this.#locked.delete(path) });
  }

  watch(directory: string, changed: () => void): Disposable {
    const watchers = this.#watchers.get(directory) ?? new Set();
    this.#watchers.set(directory, watchers.add(changed));
    return { [Symbol.dispose]: () => void watchers.delete(changed) };
  }

  real(path: string): Promise<string> {
    return Promise.resolve(path);
  }
}
