import { type AppendFile, type FileInfo, type Files, PosternError } from "../core/mod.ts";

/** Files that are in memory only. Nothing else is there, so that no file of the person's is ever read or written. */
export class DemoFiles implements Files {
  readonly #files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;

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

  list(path: string): Promise<readonly string[]> {
    return missing(path);
  }

  real(path: string): Promise<string> {
    return Promise.resolve(path);
  }

  watch(): Disposable {
    return { [Symbol.dispose]() {} };
  }

  replace(path: string): Promise<void> {
    return unchangeable(path);
  }

  create(path: string): Promise<boolean> {
    return unchangeable(path);
  }

  privateDirectory(path: string): Promise<void> {
    return unchangeable(path);
  }

  remove(path: string): Promise<void> {
    return unchangeable(path);
  }

  append(path: string): Promise<AppendFile> {
    return unchangeable(path);
  }

  lock(path: string): Promise<Disposable | undefined> {
    return unchangeable(path);
  }
}

function missing(path: string): Promise<never> {
  return Promise.reject(new PosternError("config", `Cannot read "${path}": no such file in the demo`));
}

function unchangeable(path: string): Promise<never> {
  return Promise.reject(new PosternError("not_allowed", `Cannot change "${path}": the demo writes no file`));
}
