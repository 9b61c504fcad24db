import { describe, type Log, type World } from "../core/mod.ts";
import type { LoadedConfig } from "./config_file.ts";

/**
 * Tells when a file of the configuration is another than before. Directories are watched, since a watched file
 * is lost when it is replaced; and contents are compared, since most changes there are none of ours.
 */
export class ConfigWatch implements Disposable {
  readonly #world: Pick<World, "files">;
  readonly #log: Log;
  readonly #changed: () => void;
  #texts: ReadonlyMap<string, string> = new Map();
  #watches = new Map<string, Disposable>();

  constructor(world: Pick<World, "files">, log: Log, changed: () => void) {
    this.#world = world;
    this.#log = log;
    this.#changed = changed;
  }

  /** Watches the files of a configuration, and those that links lead to. */
  async follow({ texts }: LoadedConfig): Promise<void> {
    this.#texts = texts;
    const wanted = new Set<string>();
    for (const path of texts.keys()) {
      wanted.add(directoryOf(path));
      const real = await this.#world.files.real(path).catch(() => path);
      wanted.add(directoryOf(real));
    }
    for (const [directory, watch] of this.#watches) {
      if (wanted.has(directory)) continue;
      watch[Symbol.dispose]();
      this.#watches.delete(directory);
    }
    for (const directory of wanted) {
      if (this.#watches.has(directory)) continue;
      try {
        this.#watches.set(directory, this.#world.files.watch(directory, () => void this.#compare()));
      } catch (error) {
        this.#log.warn("config.unwatched", { directory, reason: describe(error) });
      }
    }
  }

  [Symbol.dispose](): void {
    for (const watch of this.#watches.values()) watch[Symbol.dispose]();
    this.#watches.clear();
  }

  async #compare(): Promise<void> {
    for (const [path, before] of this.#texts) {
      // A file that is away for a moment, or cannot be read, is a change too: the reload says what is wrong.
      const now = await this.#world.files.readTextIfThere(path).catch(() => undefined);
      if (now === before) continue;
      // The same broken content is not told twice.
      this.#texts = new Map([...this.#texts, [path, now ?? ""]]);
      this.#changed();
      return;
    }
  }
}

function directoryOf(path: string): string {
  return path.replace(/[/\\][^/\\]*$/, "") || "/";
}
