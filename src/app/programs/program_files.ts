import { PosternError, type World } from "../../core/mod.ts";

type FilesWorld = Pick<World, "files" | "places">;

const mostTries = 10;

/**
 * A directory for the files of the programs that we start, for their owner only, and gone with us. A lock beside it
 * tells whether we are there: what one leaves that was killed, the next one removes.
 */
export class ProgramFiles implements AsyncDisposable {
  readonly directory: string;
  readonly #world: FilesWorld;
  readonly #lock: Disposable;

  private constructor(world: FilesWorld, directory: string, lock: Disposable) {
    this.#world = world;
    this.directory = directory;
    this.#lock = lock;
  }

  static async open(world: FilesWorld): Promise<ProgramFiles> {
    const { files, places } = world;
    const parent = `${places.runtime}/programs`;
    await files.privateDirectory(places.runtime);
    await files.privateDirectory(parent);
    await sweep(world, parent);
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
      return new ProgramFiles(world, directory, lock);
    }
    throw new PosternError("internal", `Cannot lock anything in "${parent}"`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    using _lock = this.#lock;
    await empty(this.#world, this.directory);
  }
}

/** Removes what the dead have left. */
async function sweep(world: FilesWorld, parent: string): Promise<void> {
  for (const name of await world.files.list(parent)) {
    if (!name.endsWith(".lock")) continue;
    using lock = await world.files.lock(`${parent}/${name}`, { removes: true });
    if (lock) await empty(world, `${parent}/${name.slice(0, -".lock".length)}`);
  }
}

async function empty({ files }: FilesWorld, directory: string): Promise<void> {
  if (!await files.info(directory)) return;
  for (const name of await files.list(directory)) await files.remove(`${directory}/${name}`);
  await files.remove(directory);
}
