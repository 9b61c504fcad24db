import { describe } from "../words/mod.ts";
import { directoryOf, type World } from "../world/mod.ts";
import type { Log } from "../core/mod.ts";

/** The contents of a configuration when it was read. */
export interface WatchedContents {
  /** The files with their texts; a missing file has no text. */
  readonly texts: ReadonlyMap<string, string | undefined>;
  /** Directories that a pattern searches, with their file names. */
  readonly listings?: ReadonlyMap<string, readonly string[]> | undefined;
}

/**
 * Reports when a file of the configuration changes. It watches directories, because a watch on a file ends
 * when the file is replaced; and it compares contents, because most changes in a directory concern other
 * files.
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

  /** Watches the files of a configuration, and the targets of links. */
  async follow({ texts, listings = new Map() }: WatchedContents): Promise<void> {
    const isMore = [...texts.keys()].some((path) => !this.#texts.has(path)) ||
      [...listings.keys()].some((path) => !this.#listings.has(path));
    this.#texts = texts;
    this.#listings = listings;
    // A change between the reading and the start of the watch caused no event.
    if (await this.#watch() || isMore) await this.#compare();
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    for (const watch of this.#watches.values()) watch[Symbol.dispose]();
    this.#watches.clear();
  }

  /** Watches the current directories of the files; returns whether some are new. */
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
        // A missing directory cannot be watched: the next reload looks for it again.
        const isThere = await this.#world.files.info(directory).then(Boolean, () => true);
        if (isThere) this.#log.warn("config.unwatched", { directory, reason: describe(error) });
      }
    }
    return hasNew;
  }

  /** Handles a change in a directory: a link may now have another target with the same content. */
  readonly #stirred = (): void => {
    this.#compare().then(() => this.#watch()).catch((error) => {
      this.#log.error("config.unwatched", { reason: describe(error) });
    });
  };

  async #compare(): Promise<void> {
    for (const [path, before] of this.#texts) {
      // A file that is temporarily missing or unreadable counts as changed: the reload reports the problem.
      const now = await this.#world.files.readTextIfThere(path).catch(() => undefined);
      if (now === before) continue;
      if (this.#isClosed) return;
      // Report the same broken content only once.
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
