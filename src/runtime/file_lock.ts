import type { Clock } from "../core/mod.ts";
import { fileError } from "./file_error.ts";

/** How long a runtime without `tryLock` (Deno 2.4) may take to find out that the lock is held. */
const patience = 250;

/** Takes the lock of a file, made if missing, and keeps its descriptor; undefined when somebody else holds it. */
export async function lockFile(path: string, clock: Clock): Promise<Disposable | undefined> {
  try {
    const file = await Deno.open(path, { read: true, write: true, create: true, mode: 0o600 });
    try {
      if (await tryLock(file, clock)) return { [Symbol.dispose]: once(() => file.close()) };
    } catch (error) {
      file.close();
      throw error;
    }
    file.close();
    return undefined;
  } catch (error) {
    throw fileError(error, `lock "${path}"`);
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
