import type { Clock } from "../../core/mod.ts";
import { fileError } from "./file_error.ts";
import { checkOwned } from "./ownership.ts";

/** How long `lock` may take where the runtime has no `tryLock` (Deno 2.6); after that the lock counts as held. */
const patience = 250;

export interface LockOptions {
  /** Takes the file away at the end. */
  readonly removes?: boolean;
  /** The file is the person's own: it may be a link, and others may read it. */
  readonly isTheirs?: boolean;
}

/**
 * Takes the lock of a file, made if missing, and keeps its descriptor; undefined when another process holds it. A lock
 * counts only on the file that is at the path: one that was removed or replaced meanwhile is none. A link or another
 * user's file is refused before it is opened.
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

/** Opens a lock file of ours, or makes it; undefined where it came or went in between. */
async function openOwn(path: string): Promise<Deno.FsFile | undefined> {
  const isThere = checkOwned(path, "lock file");
  try {
    // A link that leads nowhere counts as something that is there: nothing is made through one.
    return await Deno.open(path, { ...forLocking, createNew: !isThere });
  } catch (error) {
    if (isThere && error instanceof Deno.errors.NotFound) return undefined;
    if (error instanceof Deno.errors.AlreadyExists) return undefined;
    throw error;
  }
}

/** Windows keeps the name of a file for as long as it is open, and tells no inode that could be compared. */
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

/** The file goes while the lock is held: nobody else can have taken it for theirs. */
function giveBack(path: string, file: Deno.FsFile, removes: boolean): void {
  try {
    if (removes && mayGo) Deno.removeSync(path);
  } catch {
    // One that stays is found free by the next who wants it.
  } finally {
    file.close();
  }
}

async function tryLock(file: Deno.FsFile, clock: Clock): Promise<boolean> {
  const { tryLock } = file as { tryLock?: (exclusive: boolean) => Promise<boolean> };
  if (tryLock) return await tryLock.call(file, true);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  using _patience = clock.after(patience, () => resolve(false));
  // When the lock comes too late the file is closed already, and with it the lock is given back.
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
