import { PosternError } from "../../words/mod.ts";
import type { Store, Stores } from "../../world/mod.ts";
import { fileError } from "./file_error.ts";

/** Provides access to stores of `Deno.Kv`, which are SQLite files. */
export function createStores(): Stores {
  return { open, setAside };
}

async function open(path: string): Promise<Store> {
  try {
    await demandSound(path);
    const kv = await Deno.openKv(path);
    return {
      get: async (key) => (await attempt(path, () => kv.get([...key]))).value ?? undefined,
      list: (prefix) =>
        attempt(path, async () => {
          const entries = [];
          for await (const { key, value } of kv.list({ prefix: [...prefix] })) {
            entries.push({ key: key.filter(isPart), value });
          }
          return entries;
        }),
      commit: (changes) =>
        attempt(path, async () => {
          const commit = kv.atomic();
          for (const change of changes) {
            if ("set" in change) commit.set([...change.set], change.value);
            else commit.delete([...change.remove]);
          }
          await commit.commit();
        }),
      [Symbol.dispose]: () => kv.close(),
    };
  } catch (error) {
    throw storeError(error, path);
  }
}

/**
 * Checks a store with SQLite first, whose errors we can catch. Some kinds of damage make Deno end the whole
 * program (`KV queue_next_ready failed`, 2.9.6).
 */
async function demandSound(path: string): Promise<void> {
  const size = await sizeOf(path);
  if (size === undefined) return;
  // SQLite treats an empty file as a new store, which would silently drop all stored values.
  if (size === 0) throw damaged(path, "the file is empty");
  const { DatabaseSync } = await import("node:sqlite");
  const database = new DatabaseSync(path);
  try {
    database.exec("PRAGMA busy_timeout = 5000");
    const [answer] = database.prepare("PRAGMA quick_check(1)").all();
    const says = String(Object.values(answer ?? {})[0]).replace(/^\*\*\*.*?\*\*\*/, "").trim();
    if (says !== "ok") throw damaged(path, says.replace(/\s+/g, " ").slice(0, 100));
    // postern never uses the queue; Deno would read it in the background.
    const queue = database.prepare("SELECT name FROM sqlite_schema WHERE name = 'queue'").all();
    if (queue.length === 0) return;
    const waiting = database.prepare("SELECT 1 FROM queue LIMIT 1").all();
    if (waiting.length > 0) throw damaged(path, "its queue is not empty");
  } finally {
    database.close();
  }
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await Deno.stat(path)).size;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** SQLite's files next to a store: data that is not in the store yet, and its index. */
const sideFiles = ["-wal", "-shm"];

async function setAside(path: string, word: string): Promise<string> {
  const target = `${path}.${word}`;
  try {
    await Deno.rename(path, target);
    for (const ending of sideFiles) {
      await Deno.rename(`${path}${ending}`, `${target}${ending}`).catch((error) => {
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      });
    }
    return target;
  } catch (error) {
    throw fileError(error, `set "${path}" aside`);
  }
}

async function attempt<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw storeError(error, path);
  }
}

function isPart(part: Deno.KvKeyPart): part is string | number {
  return typeof part === "string" || typeof part === "number";
}

function damaged(path: string, why: string, cause?: unknown): PosternError {
  return new PosternError("config", `Cannot use "${path}": it is damaged: ${why}`, {
    detail: "damaged",
    cause,
  });
}

/** SQLite's errors have only a message. */
function storeError(error: unknown, path: string): PosternError {
  if (error instanceof PosternError) return error;
  const text = error instanceof Error ? error.message : String(error);
  const failure = (code: "internal" | "not_allowed", why: string, hint: string) =>
    new PosternError(code, `Cannot use "${path}": ${why}`, { cause: error, hint });
  if (/not a database|malformed|corrupt|no such (?:table|column)|invalid column/i.test(text)) {
    return damaged(path, text, error);
  }
  // Deno serializes values with V8, and no V8 reads the format of a later one.
  if (/could not deserialize|value encoding \d+ is unknown/i.test(text)) {
    return new PosternError("config", `Cannot use "${path}": a newer postern wrote it`, {
      cause: error,
      detail: "newer",
    });
  }
  if (/disk is full|file too large/i.test(text)) {
    return failure(
      "internal",
      "no space left",
      "free space on that disk (df -h), or raise its limit",
    );
  }
  // SQLite's message when it cannot extend the files next to a store, mostly because of a full disk.
  if (/disk i\/o error/i.test(text)) {
    return failure(
      "internal",
      "the disk is full or failing",
      "check its free space (df -h) and the system's messages (dmesg)",
    );
  }
  if (/readonly|read-only|unable to open/i.test(text)) {
    return failure(
      "not_allowed",
      "it cannot be opened for writing",
      "check its owner and mode: ls -ld",
    );
  }
  if (/is locked|is busy/i.test(text)) {
    return failure("internal", "another program has locked it", "find that program: lsof");
  }
  return fileError(error, `use "${path}"`);
}
