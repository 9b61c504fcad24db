import type { Clock } from "../../core/mod.ts";
import { fileError } from "./file_error.ts";
import { checkOwned } from "./ownership.ts";

/** Timeout of `lock`, in ms, on runtimes without `tryLock` (Deno 2.6); afterwards the lock counts as held. */
const patience = 250;

export interface LockOptions {
  /** Removes the file at the end. */
  readonly removes?: boolean;
  /** Set for a file of the user: it may be a link, and other users may read it. */
  readonly isTheirs?: boolean;
}

/**
 * Locks a file, creates it if missing, and keeps its descriptor; undefined when another process holds the
 * lock. A lock counts only on the file at the path: if the file was removed or replaced meanwhile, the lock
 * is invalid. Rejects a link or another user's file before opening it.
 */
export async function lockFile(
  path: string,
  clock: Clock,
  { removes = false, isTheirs = false }: LockOptions = {},
): Promise<Disposable | undefined> {
  try {
    while (true) {
      const file = await (isTheirs ? Deno.open(path, { ...forLocking, create: true }) : openOwn(path));
      if (!file) continue;
      try {
        if (!await tryLock(file, clock)) {
          file.close();
          return undefined;
        }
        if (await isAt(path, file, isTheirs ? Deno.stat : Deno.lstat)) {
          return { [Symbol.dispose]: once(() => giveBack(path, file, removes)) };
        }
      } catch (error) {
        file.close();
        throw error;
      }
      file.close();
    }
  } catch (error) {
    throw fileError(error, `lock "${path}"`);
  }
}

const forLocking = { read: true, write: true, mode: 0o600 } as const;

/** Opens or creates our lock file; undefined when it appeared or disappeared in between. */
async function openOwn(path: string): Promise<Deno.FsFile | undefined> {
  const isThere = checkOwned(path, "lock file");
  try {
    // A dangling link counts as existing: nothing is created through it.
    return await Deno.open(path, { ...forLocking, createNew: !isThere });
  } catch (error) {
    if (isThere && error instanceof Deno.errors.NotFound) return undefined;
    if (error instanceof Deno.errors.AlreadyExists) return undefined;
    throw error;
  }
}

/** Windows keeps a file's name while the file is open, and has no inode to compare. */
const mayGo = Deno.build.os !== "windows";

async function isAt(
  path: string,
  file: Deno.FsFile,
  look: (path: string) => Promise<Deno.FileInfo>,
): Promise<boolean> {
  if (!mayGo) return true;
  try {
    const [there, held] = await Promise.all([look(path), file.stat()]);
    return there.dev === held.dev && there.ino === held.ino;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Removes the file while the lock is held, so that no other process can have locked it. */
function giveBack(path: string, file: Deno.FsFile, removes: boolean): void {
  try {
    if (removes && mayGo) Deno.removeSync(path);
  } catch {
    // If the file stays, the next process finds it unlocked.
  } finally {
    file.close();
  }
}

async function tryLock(file: Deno.FsFile, clock: Clock): Promise<boolean> {
  const { tryLock } = file as { tryLock?: (exclusive: boolean) => Promise<boolean> };
  if (tryLock) return await tryLock.call(file, true);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  using _patience = clock.after(patience, () => resolve(false));
  // If the lock comes too late, the file is closed already, which releases the lock.
  return await Promise.race([promise, file.lock(true).then(() => true)]);
}

function once(task: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    task();
  };
}
