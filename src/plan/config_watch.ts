import { describe } from "../words/mod.ts";
import { directoryOf, type World } from "../world/mod.ts";
import type { Log } from "../core/mod.ts";

/** What a configuration was when it was read. */
export interface WatchedContents {
  /** The files, with what was read of them; one that is not there has no text. */
  readonly texts: ReadonlyMap<string, string | undefined>;
  /** Directories in which files are found by a pattern, with their names. */
  readonly listings?: ReadonlyMap<string, readonly string[]> | undefined;
}

/**
 * Tells when a file of the configuration is another than before. Directories are watched, since a watched file
 * is lost when it is replaced; and contents are compared, since most changes there are none of ours.
 */
export class ConfigWatch implements Disposable {
  readonly #world: Pick<World, "files">;
  readonly #log: Log;
  readonly #changed: () => void;
  #texts: ReadonlyMap<string, string | undefined> = new Map();
  #listings: ReadonlyMap<string, readonly string[]> = new Map();
  #watches = new Map<string, Disposable>();
  #isClosed = false;

  constructor(world: Pick<World, "files">, log: Log, changed: () => void) {
    this.#world = world;
    this.#log = log;
    this.#changed = changed;
  }

  /** Watches the files of a configuration, and those that links lead to. */
  async follow({ texts, listings = new Map() }: WatchedContents): Promise<void> {
    const isMore = [...texts.keys()].some((path) => !this.#texts.has(path)) ||
      [...listings.keys()].some((path) => !this.#listings.has(path));
    this.#texts = texts;
    this.#listings = listings;
    // What happened between the reading and the watching has been told to nobody.
    if (await this.#watch() || isMore) await this.#compare();
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    for (const watch of this.#watches.values()) watch[Symbol.dispose]();
    this.#watches.clear();
  }

  /** Watches the directories where the files are now; whether there are new ones among them. */
  async #watch(): Promise<boolean> {
    const wanted = new Set<string>(this.#listings.keys());
    for (const path of this.#texts.keys()) {
      wanted.add(directoryOf(path));
      const real = await this.#world.files.real(path).catch(() => path);
      wanted.add(directoryOf(real));
    }
    if (this.#isClosed) return false;
    for (const [directory, watch] of this.#watches) {
      if (wanted.has(directory)) continue;
      watch[Symbol.dispose]();
      this.#watches.delete(directory);
    }
    let hasNew = false;
    for (const directory of wanted) {
      if (this.#watches.has(directory)) continue;
      try {
        this.#watches.set(directory, this.#world.files.watch(directory, this.#stirred));
        hasNew = true;
      } catch (error) {
        // What is not there cannot be watched: it is looked for again at the next reload.
        const isThere = await this.#world.files.info(directory).then(Boolean, () => true);
        if (isThere) this.#log.warn("config.unwatched", { directory, reason: describe(error) });
      }
    }
    return hasNew;
  }

  /** Something happened in a directory: perhaps a link leads elsewhere now, to the same content. */
  readonly #stirred = (): void => {
    this.#compare().then(() => this.#watch()).catch((error) => {
      this.#log.error("config.unwatched", { reason: describe(error) });
    });
  };

  async #compare(): Promise<void> {
    for (const [path, before] of this.#texts) {
      // A file that is away for a moment, or cannot be read, is a change too: the reload says what is wrong.
      const now = await this.#world.files.readTextIfThere(path).catch(() => undefined);
      if (now === before) continue;
      if (this.#isClosed) return;
      // The same broken content is not told twice.
      this.#texts = new Map([...this.#texts, [path, now]]);
      this.#changed();
      return;
    }
    for (const [path, before] of this.#listings) {
      const now = await this.#world.files.list(path).catch((): readonly string[] => []);
      if (sameNames(before, now)) continue;
      if (this.#isClosed) return;
      this.#listings = new Map([...this.#listings, [path, now]]);
      this.#changed();
      return;
    }
  }
}

function sameNames(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.toSorted().join("\n") === other.toSorted().join("\n");
}
