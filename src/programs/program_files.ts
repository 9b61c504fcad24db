import { describe, PosternError } from "../words/mod.ts";
import type { Log } from "../core/mod.ts";
import type { World } from "../world/mod.ts";

type FilesWorld = Pick<World, "files" | "places">;

const mostTries = 10;

/**
 * A private directory for the files of started programs, removed at the end. A lock next to it shows whether
 * its owner is alive; the next process removes the directories of killed ones.
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
      // A concurrent sweep may have taken our lock before we held it.
      if (!lock) continue;
      try {
        await files.privateDirectory(directory);
      } catch (error) {
        lock[Symbol.dispose]();
        throw error;
      }
      return new ProgramFiles(world, { directory, log, lock });
    }
    throw new PosternError("internal", `Cannot lock a directory in "${parent}": every attempt failed`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    using _lock = this.#lock;
    await empty(this.#world, this.directory, this.#log);
  }
}

/** Removes the directories of processes that have ended. */
async function sweep(world: FilesWorld, parent: string, log: Log): Promise<void> {
  for (const name of await world.files.list(parent)) {
    if (!name.endsWith(".lock")) continue;
    using lock = await world.files.lock(`${parent}/${name}`, { removes: true });
    if (lock) await empty(world, `${parent}/${name.slice(0, -".lock".length)}`, log);
  }
}

/** Removes postern's files. A subdirectory that a program has created stays; it neither contains secrets nor affects the exit code. */
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
