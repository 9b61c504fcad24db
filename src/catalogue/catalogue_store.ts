import { isMapping } from "../config/mod.ts";
import { type Clock, jsonIn, pause } from "../core/mod.ts";
import { describe, PosternError } from "../words/mod.ts";
import type { Files, Stores } from "../world/mod.ts";
import type { Catalogue } from "../clusters/mod.ts";
import { Generations } from "./generations.ts";
import { damagedStore, demandKnownFormat, readStoredCatalogue, storedFormat } from "./stored_catalogue.ts";

export interface CatalogueStoreParts {
  readonly clock: Clock;
  readonly files: Files;
  readonly stores: Stores;
  /** A dedicated directory, created if missing: `catalogue` in the cache directory. */
  readonly directory: string;
}

/** The stored catalogues, sorted by name. */
export interface StoredCatalogues {
  readonly catalogues: readonly Catalogue[];
  /** Notes for the user about problems during the read. */
  readonly notes: readonly string[];
}

interface OpenedStore extends Disposable {
  readonly generations: Generations;
  readonly isEmpty: boolean;
}

/** How long an update waits for another one, and how often it checks, in ms. */
const patience = 30_000;
const interval = 50;

/** Maximum size of a snapshot in bytes: several large catalogues. */
const snapshotLimit = 128 * 1024 * 1024;

/**
 * Stores the catalogues between runs until the user removes them. Any number of processes may read and update
 * concurrently and be killed; a reader always gets a complete catalogue, old or new. A plain copy next to the
 * store serves when the store is damaged, has a newer format, or cannot be opened for writing.
 */
export class CatalogueStore {
  readonly #clock: Clock;
  readonly #files: Files;
  readonly #stores: Stores;
  readonly #directory: string;

  constructor({ clock, files, stores, directory }: CatalogueStoreParts) {
    this.#clock = clock;
    this.#files = files;
    this.#stores = stores;
    this.#directory = directory;
  }

  /** Reads all stored catalogues; empty if there never was one. */
  async read(): Promise<StoredCatalogues> {
    if (!await this.#files.info(this.#path)) return { catalogues: await this.#copy() ?? [], notes: [] };
    try {
      const catalogues = await this.#readSettled();
      if (catalogues.length > 0) return { catalogues, notes: [] };
      // A new store is empty until its first update is done, and that update may have been killed.
      return { catalogues: await this.#copy() ?? [], notes: [] };
    } catch (error) {
      const copy = await this.#copy().catch(() => undefined);
      if (!copy) throw withHint(error);
      // A read-only directory needs no note, because the copy is equal to the store.
      const isRemarkable = error instanceof PosternError && error.detail !== undefined;
      return { catalogues: copy, notes: isRemarkable ? [`${describe(error)}; postern uses its copy`] : [] };
    }
  }

  /** A store that another process is creating looks damaged for a moment, so read it again under the lock. */
  async #readSettled(): Promise<readonly Catalogue[]> {
    const read = async () => {
      using store = await this.#stores.open(this.#path);
      return await (await Generations.of(store, this.#path)).read();
    };
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof PosternError) || error.detail !== "damaged") throw error;
      // If this process cannot get the lock, no other process of this user writes either.
      using _lock = await this.#lock(new AbortController().signal).catch(() => undefined);
      return await read();
    }
  }

  /** Stores a catalogue and replaces the one with its name. Returns notes for the user. */
  put(catalogue: Catalogue, { signal }: { signal: AbortSignal }): Promise<readonly string[]> {
    return this.#change(
      signal,
      (generations, restored) =>
        generations.write([...restored.filter(({ name }) => name !== catalogue.name), catalogue]),
    );
  }

  remove(name: string, { signal }: { signal: AbortSignal }): Promise<readonly string[]> {
    return this.#change(signal, async (generations, restored) => {
      if (restored.length > 0) await generations.write(restored);
      await generations.remove(name);
    });
  }

  /** `restored` contains the catalogues of the copy if the store is new. */
  async #change(
    signal: AbortSignal,
    work: (generations: Generations, restored: readonly Catalogue[]) => Promise<void>,
  ): Promise<readonly string[]> {
    await this.#files.privateDirectory(this.#directory);
    using _lock = await this.#lock(signal);
    const notes: string[] = [];
    using opened = await this.#openUsable(notes);
    const { generations } = opened;
    const restored = opened.isEmpty ? await this.#copy().catch(() => undefined) : undefined;
    await work(generations, restored ?? []);
    await this.#sweep();
    const catalogues = await generations.read();
    try {
      await this.#files.replace(this.#copyPath, JSON.stringify({ format: storedFormat, catalogues }));
    } catch (error) {
      notes.push(`${describe(error)}; the copy of the catalogue is out of date`);
    }
    return notes;
  }

  /** Removes unfinished copies of killed updates; only the holder of the lock writes copies. */
  async #sweep(): Promise<void> {
    for (const name of await this.#files.list(this.#directory)) {
      if (/^snapshot\.json\.[0-9a-f]{8}\.tmp$/.test(name)) {
        await this.#files.remove(`${this.#directory}/${name}`);
      }
    }
  }

  /**
   * Opens the store. Sets an unusable one aside instead of deleting it, because another version of postern
   * may need it.
   */
  async #openUsable(notes: string[]): Promise<OpenedStore> {
    try {
      return await this.#open();
    } catch (error) {
      if (!(error instanceof PosternError) || (error.detail !== "damaged" && error.detail !== "newer")) {
        throw error;
      }
      const time = this.#clock.date().toISOString().replace(/\.[0-9]+/, "").replaceAll(/[-:]/g, "");
      const aside = await this.#stores.setAside(this.#path, `${error.detail}-${time}`);
      notes.push(`${describe(error)}; postern renamed it to "${aside}" and created a new store`);
    }
    return await this.#open();
  }

  async #open(): Promise<OpenedStore> {
    const store = await this.#stores.open(this.#path);
    try {
      const generations = await Generations.of(store, this.#path);
      const isEmpty = (await generations.read()).length === 0;
      return { generations, isEmpty, [Symbol.dispose]: () => store[Symbol.dispose]() };
    } catch (error) {
      store[Symbol.dispose]();
      throw error;
    }
  }

  async #lock(signal: AbortSignal): Promise<Disposable> {
    const end = this.#clock.now() + patience;
    while (true) {
      signal.throwIfAborted();
      const lock = await this.#files.lock(`${this.#directory}/lock`);
      if (lock) return lock;
      if (this.#clock.now() >= end) {
        throw new PosternError(
          "timeout",
          "Cannot store the catalogue: another postern process has locked the store for 30 s",
          {
            hint: `find the process: lsof "${this.#directory}/lock"`,
          },
        );
      }
      await pause(this.#clock, interval, { signal });
    }
  }

  async #copy(): Promise<readonly Catalogue[] | undefined> {
    const path = this.#copyPath;
    const text = await this.#files.readTextIfThere(path, { limit: snapshotLimit });
    if (text === undefined) return undefined;
    const value = jsonIn(text);
    if (value === undefined) throw damagedStore(path, "it is not JSON");
    const { format, catalogues } = isMapping(value) ? value : {};
    if (format === undefined || !Array.isArray(catalogues)) {
      throw damagedStore(path, "it is not a list of catalogues");
    }
    demandKnownFormat(format, path);
    return catalogues.map((catalogue) => readStoredCatalogue(catalogue, path));
  }

  get #path(): string {
    return `${this.#directory}/catalogue.kv`;
  }

  get #copyPath(): string {
    return `${this.#directory}/snapshot.json`;
  }
}

function withHint(error: unknown): unknown {
  if (!(error instanceof PosternError) || error.hint !== undefined) return error;
  return error.with({ hint: "fetch the catalogue again, which renames this file first: postern update" });
}
