import { type AppendFile, directoryOf, type FileInfo, type Files } from "../world/mod.ts";
import { PosternError } from "../words/mod.ts";

/** Files in memory only: the demo never reads or writes a file of the user. */
export class DemoFiles implements Files {
  readonly #files: Map<string, Uint8Array<ArrayBuffer>>;
  readonly #directories = new Set<string>();
  readonly #locked = new Set<string>();

  constructor(texts: Readonly<Record<string, string>>) {
    const encoder = new TextEncoder();
    this.#files = new Map(Object.entries(texts).map(([path, text]) => [path, encoder.encode(text)]));
  }

  read(path: string): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = this.#files.get(path);
    return bytes ? Promise.resolve(bytes.slice()) : missing(path);
  }

  async readText(path: string): Promise<string> {
    return new TextDecoder().decode(await this.read(path));
  }

  async readTextIfThere(path: string): Promise<string | undefined> {
    return this.#files.has(path) ? await this.readText(path) : undefined;
  }

  async readFrom(path: string, offset: number, count: number): Promise<Uint8Array<ArrayBuffer>> {
    return (await this.read(path)).slice(offset, offset + count);
  }

  info(path: string): Promise<FileInfo | undefined> {
    const bytes = this.#files.get(path);
    const fixed = { kind: "file", modified: 0, mode: 0o600, owner: undefined } as const;
    return Promise.resolve(bytes && { ...fixed, size: bytes.length });
  }

  async owned(path: string): Promise<boolean> {
    return await this.info(path) !== undefined;
  }

  list(path: string): Promise<readonly string[]> {
    const names = [...this.#files.keys()].filter((name) => directoryOf(name) === path);
    return Promise.resolve(names.map((name) => name.slice(path.length + 1)));
  }

  real(path: string): Promise<string> {
    return Promise.resolve(path);
  }

  watch(): Disposable {
    return { [Symbol.dispose]() {} };
  }

  replace(path: string, content: string | Uint8Array): Promise<void> {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content.slice();
    this.#files.set(path, new Uint8Array(bytes));
    return Promise.resolve();
  }

  create(path: string): Promise<boolean> {
    const isNew = !this.#files.has(path);
    if (isNew) this.#files.set(path, new Uint8Array());
    return Promise.resolve(isNew);
  }

  privateDirectory(path: string): Promise<void> {
    this.#directories.add(path);
    return Promise.resolve();
  }

  publicDirectory(path: string): Promise<boolean> {
    const isNew = !this.#directories.has(path);
    this.#directories.add(path);
    return Promise.resolve(isNew);
  }

  remove(path: string): Promise<void> {
    this.#files.delete(path);
    return Promise.resolve();
  }

  append(path: string): Promise<AppendFile> {
    return Promise.reject(
      new PosternError("not_allowed", `Cannot write to "${path}": the demo has no log file`),
    );
  }

  lock(path: string): Promise<Disposable | undefined> {
    if (this.#locked.has(path)) return Promise.resolve(undefined);
    this.#locked.add(path);
    return Promise.resolve({ [Symbol.dispose]: () => void this.#locked.delete(path) });
  }
}

function missing(path: string): Promise<never> {
  return Promise.reject(new PosternError("config", `Cannot read "${path}": no such file in the demo`));
}
