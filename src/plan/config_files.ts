import { readSettled, type World } from "../world/mod.ts";
import type { AuthSettings } from "../listeners/mod.ts";
import { readPasswordFile } from "./users.ts";

/** A long list may be larger than a configuration, because it is read line by line. */
const listLimit = 64 * 1024 * 1024;

/** Reads the files of a configuration and keeps their texts: a change of any file requires a reload. */
export class ConfigFiles {
  readonly #world: Pick<World, "files" | "clock">;
  readonly #texts = new Map<string, string | undefined>();

  constructor(world: Pick<World, "files" | "clock">) {
    this.#world = world;
  }

  /** Every file read so far, with its text if readable. */
  get texts(): ReadonlyMap<string, string | undefined> {
    return this.#texts;
  }

  /** Reads a file with `read` and records its text. */
  async read<T extends string | undefined>(path: string, read: () => T | Promise<T>): Promise<T> {
    this.#texts.set(path, undefined);
    const text = await read();
    this.#texts.set(path, text);
    return text;
  }

  /** Reads a list of routes or of clusters. */
  list(path: string): Promise<string> {
    const { files } = this.#world;
    const read = () => files.readText(path, { limit: listLimit });
    return this.read(path, () => readSettled(path, this.#world, read));
  }

  password(user: AuthSettings["users"][number]): Promise<string> {
    return this.read(user.passwordFile, () => readPasswordFile(this.#world.files, user));
  }
}
