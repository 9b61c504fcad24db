import { describe, PosternError } from "../words/mod.ts";
import type { Log } from "../core/mod.ts";
import type { World } from "../world/mod.ts";

type FilesWorld = Pick<World, "files" | "places">;

const mostTries = 10;

/**
 * A directory for the files of the programs that we start, for their owner only, and gone with us. A lock beside it
 * tells whether we are there: what one leaves that was killed, the next one removes.
 */
export class ProgramFiles implements AsyncDisposable {
  readonly directory: string;
  readonly #world: FilesWorld;
  readonly #log: Log;
  readonly #lock: Disposable;

  private constructor(
    world: FilesWorld,
    { directory, log, lock }: { readonly directory: string; readonly log: Log; readonly lock: Disposable },
  ) {
    this.#world = world;
    this.directory = directory;
    this.#log = log;
    this.#lock = lock;
  }

  static async open(world: FilesWorld, log: Log): Promise<ProgramFiles> {
    const { files, places } = world;
    const parent = `${places.runtime}/programs`;
    await files.privateDirectory(places.runtime);
    await files.privateDirectory(parent);
    await sweep(world, parent, log);
    for (let tries = 0; tries < mostTries; tries++) {
      const directory = `${parent}/${crypto.randomUUID().slice(0, 13)}`;
      const lock = await files.lock(`${directory}.lock`, { removes: true });
      // Whoever sweeps just now may have found our lock before we held it.
      if (!lock) continue;
      try {
        await files.privateDirectory(directory);
      } catch (error) {
        lock[Symbol.dispose]();
        throw error;
      }
      return new ProgramFiles(world, { directory, log, lock });
    }
    throw new PosternError("internal", `Cannot lock anything in "${parent}"`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    using _lock = this.#lock;
    await empty(this.#world, this.directory, this.#log);
  }
}

/** Removes what the dead have left. */
async function sweep(world: FilesWorld, parent: string, log: Log): Promise<void> {
  for (const name of await world.files.list(parent)) {
    if (!name.endsWith(".lock")) continue;
    using lock = await world.files.lock(`${parent}/${name}`, { removes: true });
    if (lock) await empty(world, `${parent}/${name.slice(0, -".lock".length)}`, log);
  }
}

/** Removes all that is ours; a directory that a program has made there stays, and keeps no secret and no exit code. */
async function empty({ files }: FilesWorld, directory: string, log: Log): Promise<void> {
  if (!await files.info(directory)) return;
  const inside = (await files.list(directory)).map((name) => `${directory}/${name}`);
  for (const path of [...inside, directory]) {
    try {
      await files.remove(path);
    } catch (error) {
      log.warn("programs.left", { path, reason: describe(error) });
    }
  }
}
