import { directoryOf, fileNameOf, type Files, type World } from "../../world/mod.ts";
import { pause } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";

/** How long others may keep a kubeconfig locked, in ms: kubectl does for the moment in which it writes. */
const patience = 10_000;
/** How often it is tried, in ms. */
const interval = 20;

/**
 * Does something while kubeconfigs are locked as kubectl and its kin lock them: by a file FILE.lock that must not be
 * there before. The same file may be known by several paths.
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
  // In one order for all, as kubectl takes them.
  for (const [lock, path] of [...locks].sort(([a], [b]) => a < b ? -1 : 1)) {
    await take(world, lock, { path, signal });
    held.defer(() => world.files.remove(lock));
  }
  return await work();
}

/** The lock of a path. Its directory may have several names: by two of them a lock would be waited for by who has it. */
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
      throw new PosternError("config", `Cannot change "${path}": another program has it locked`, {
        exit: 1,
        hint: `where no kubectl runs, one that was killed has left it: remove "${lock}"`,
      });
    }
    await pause(clock, interval, { signal });
  }
}
