import { directoryOf, fileNameOf, type Files, type World } from "../../world/mod.ts";
import { pause } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";

/** How long to wait for another program's lock, in ms; kubectl holds it only while writing. */
const patience = 10_000;
/** Pause between attempts, in ms. */
const interval = 20;

/**
 * Runs `work` while kubeconfigs are locked as kubectl does it: with an exclusively created FILE.lock. Several
 * paths may refer to the same file.
 */
export async function withKubeconfigLock<T>(
  world: Pick<World, "clock" | "files">,
  paths: readonly string[],
  { signal }: { signal: AbortSignal },
  work: () => Promise<T>,
): Promise<T> {
  await using held = new AsyncDisposableStack();
  const locks = new Map<string, string>();
  for (const path of paths) {
    const lock = await lockOf(path, world.files);
    if (!locks.has(lock)) locks.set(lock, path);
  }
  // Every program must take the locks in the same order; kubectl sorts them.
  for (const [lock, path] of [...locks].sort(([a], [b]) => a < b ? -1 : 1)) {
    await take(world, lock, { path, signal });
    held.defer(() => world.files.remove(lock));
  }
  return await work();
}

/**
 * The lock file of a path, in its real directory: with two names for one directory, the process would wait
 * for itself.
 */
async function lockOf(path: string, files: Pick<Files, "real">): Promise<string> {
  const directory = directoryOf(path);
  const real = await files.real(directory === path ? "." : directory);
  return `${real.replace(/\/$/, "")}/${fileNameOf(path)}.lock`;
}

async function take(
  { clock, files }: Pick<World, "clock" | "files">,
  lock: string,
  { path, signal }: { readonly path: string; readonly signal: AbortSignal },
): Promise<void> {
  const end = clock.now() + patience;
  while (!await files.create(lock)) {
    if (clock.now() >= end) {
      throw new PosternError("config", `Cannot change "${path}": another program has locked it`, {
        exit: 1,
        hint: `if no kubectl is running, remove the stale lock "${lock}"`,
      });
    }
    await pause(clock, interval, { signal });
  }
}
