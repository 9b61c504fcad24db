import type { Clock } from "../core/mod.ts";
import { fileError } from "./file_error.ts";

/** How long `lock` may take where the runtime has no `tryLock` (Deno 2.6); after that the lock counts as held. */
const patience = 250;

/**
 * Takes the lock of a file, made if missing, and keeps its descriptor; undefined when somebody else holds it. A lock
 * counts only on the file that is at the path: whoever got one that was removed or replaced begins again.
 */
export async function lockFile(
  path: string,
  clock: Clock,
  { removes = false }: { removes?: boolean } = {},
): Promise<Disposable | undefined> {
  try {
    while (true) {
      const file = await Deno.open(path, { read: true, write: true, create: true, mode: 0o600 });
      try {
        if (!await tryLock(file, clock)) {
          file.close();
          return undefined;
        }
        if (await isAt(path, file)) return { [Symbol.dispose]: once(() => giveBack(path, file, removes)) };
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

/** Windows keeps the name of a file for as long as it is open, and tells no inode that could be compared. */
const mayGo = Deno.build.os !== "windows";

async function isAt(path: string, file: Deno.FsFile): Promise<boolean> {
  if (!mayGo) return true;
  try {
    const [there, held] = await Promise.all([Deno.stat(path), file.stat()]);
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
