import type { AppendFile, FileInfo, Files } from "../../world/mod.ts";
import type { Clock } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { watchDirectory } from "./directory_watch.ts";
import { fileError } from "./file_error.ts";
import { lockFile } from "./file_lock.ts";
import { checkOwned } from "./ownership.ts";
import { privateDirectory } from "./private_directory.ts";
import { writeAll } from "../network/write_all.ts";

/** The default maximum size of a file, in bytes. */
const defaultLimit = 64 * 1024 * 1024;

/** Provides access to the machine's files. */
export function createFiles(clock: Clock): Files {
  return {
    read,
    readText,
    readTextIfThere,
    readFrom,
    replace,
    create,
    info,
    list,
    // deno-lint-ignore require-await -- turns a throw into a rejection
    owned: async (path, kind) => checkOwned(path, kind),
    privateDirectory,
    publicDirectory,
    remove,
    append,
    lock: (path, options) => lockFile(path, clock, options),
    watch: (directory, changed) => watchDirectory(directory, changed, clock),
    real: (path) => attempt(`resolve "${path}"`, () => Deno.realPath(path)),
  };
}

interface Limit {
  readonly limit?: number;
}

function read(path: string, { limit = defaultLimit }: Limit = {}): Promise<Uint8Array<ArrayBuffer>> {
  return attempt(`read "${path}"`, async () => {
    // Check before opening: opening a pipe without a writer would block forever.
    const { isFile, isDirectory, size } = await Deno.stat(path);
    if (isDirectory) throw new Deno.errors.IsADirectory(path);
    if (!isFile && path !== "/dev/null") throw notRegular(path);
    if (size > limit) throw tooLarge(path, limit);
    using file = await Deno.open(path);
    return await readUpTo(file, { path, limit, expected: size });
  });
}

/**
 * The error for a path that is not a regular file. Files may be read again, but a pipe delivers its text only
 * once.
 */
function notRegular(path: string): PosternError {
  return new PosternError("config", `Cannot read "${path}": it is not a regular file`, {
    hint: "copy its content to a file, and use that file",
  });
}

/** Reads a file; the limit also holds when the file grows meanwhile. */
async function readUpTo(
  file: Deno.FsFile,
  { path, limit, expected }: { path: string; limit: number; expected: number },
): Promise<Uint8Array<ArrayBuffer>> {
  // One byte more than expected, so that a normal file ends without growing the buffer.
  let buffer = new Uint8Array(Math.max(expected, 512) + 1);
  let length = 0;
  while (true) {
    if (length === buffer.length) {
      const larger = new Uint8Array(buffer.length * 2);
      larger.set(buffer);
      buffer = larger;
    }
    const count = await file.read(buffer.subarray(length));
    if (count === null) return buffer.subarray(0, length);
    length += count;
    if (length > limit) throw tooLarge(path, limit);
  }
}

function tooLarge(path: string, limit: number): PosternError {
  return new PosternError("config", `Cannot read "${path}": the file has more than ${limit} bytes`, {
    detail: "too_large",
  });
}

async function readText(path: string, options?: Limit): Promise<string> {
  const bytes = await read(path, options);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    // The decoder does not name the file.
    throw new PosternError("config", `Cannot read "${path}": it is not UTF-8 text`, {
      hint: "save it as UTF-8, or convert it: iconv -f latin1 -t utf-8",
    });
  }
}

async function readTextIfThere(path: string, options?: Limit): Promise<string | undefined> {
  try {
    return await readText(path, options);
  } catch (error) {
    if (error instanceof PosternError && error.cause instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

function readFrom(path: string, offset: number, count: number): Promise<Uint8Array<ArrayBuffer>> {
  return attempt(`read "${path}"`, async () => {
    using file = await Deno.open(path);
    await file.seek(offset, Deno.SeekMode.Start);
    const buffer = new Uint8Array(count);
    let length = 0;
    while (length < count) {
      const more = await file.read(buffer.subarray(length));
      if (more === null) break;
      length += more;
    }
    return buffer.subarray(0, length);
  });
}

/**
 * Replaces `path` itself: a symbolic link is replaced and not followed, so that no link can redirect a
 * secret. To replace a link's target, call `real(path)` first.
 */
function replace(path: string, content: string | Uint8Array, { mode = 0o600 } = {}): Promise<void> {
  const temporary = `${path}.${crypto.randomUUID().slice(0, 8)}.tmp`;
  return attempt(`write "${path}"`, async () => {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    const file = await Deno.open(temporary, { write: true, createNew: true, mode });
    try {
      try {
        await writeAll(file, bytes);
        await file.sync();
      } finally {
        file.close();
      }
      await Deno.rename(temporary, path);
    } catch (error) {
      await remove(temporary);
      throw error;
    }
  });
}

async function create(path: string): Promise<boolean> {
  try {
    const file = await Deno.open(path, { write: true, createNew: true, mode: 0o600 });
    file.close();
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return false;
    throw fileError(error, `make "${path}"`);
  }
}

async function info(path: string): Promise<FileInfo | undefined> {
  try {
    const found = await Deno.stat(path);
    return {
      kind: found.isFile ? "file" : found.isDirectory ? "directory" : "other",
      size: found.size,
      modified: found.mtime?.getTime() ?? 0,
      mode: found.mode === null ? undefined : found.mode & 0o7777,
      owner: found.uid ?? undefined,
    };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw fileError(error, `inspect "${path}"`);
  }
}

function list(path: string): Promise<readonly string[]> {
  return attempt(`list "${path}"`, async () => {
    const names: string[] = [];
    for await (const { name } of Deno.readDir(path)) names.push(name);
    return names.sort();
  });
}

async function remove(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw fileError(error, `remove "${path}"`);
  }
}

async function publicDirectory(path: string): Promise<boolean> {
  try {
    await Deno.mkdir(path, { mode: 0o755 });
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return false;
    throw fileError(error, `create the directory "${path}"`);
  }
}

function append(path: string): Promise<AppendFile> {
  return attempt(`append to "${path}"`, async () => {
    const file = await Deno.open(path, { append: true, create: true, mode: 0o600 });
    let last: Promise<unknown> = Promise.resolve();
    return {
      write(text) {
        const written = last.then(() => writeAll(file, new TextEncoder().encode(text)));
        // The next line is tried even when this one fails; this call's caller gets the error.
        last = written.catch(() => {});
        return attempt(`append to "${path}"`, () => written);
      },
      [Symbol.dispose]: () => file.close(),
    };
  });
}

async function attempt<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw fileError(error, what);
  }
}
