import { isMapping } from "../config/mod.ts";
import { type Clock, pause } from "../core/mod.ts";
import { describe, PosternError } from "../words/mod.ts";
import type { Files, Stores } from "../world/mod.ts";
import type { Catalogue } from "../clusters/mod.ts";
import { Generations } from "./generations.ts";
import { damagedStore, demandKnownFormat, readStoredCatalogue, storedFormat } from "./stored_catalogue.ts";

export interface CatalogueStoreParts {
  readonly clock: Clock;
  readonly files: Files;
  readonly stores: Stores;
  /** A directory of its own, made if missing: `catalogue` in the place for caches. */
  readonly directory: string;
}

/** The catalogues that are stored, in the order of their names. */
export interface StoredCatalogues {
  readonly catalogues: readonly Catalogue[];
  /** What a person should know of how they were read. */
  readonly notes: readonly string[];
}

interface OpenedStore extends Disposable {
  readonly generations: Generations;
  readonly isEmpty: boolean;
}

/** How long an update waits for another one, and how often it looks, in ms. */
const patience = 30_000;
const interval = 50;

/** The most bytes of a snapshot: several of the longest catalogues. */
const snapshotLimit = 128 * 1024 * 1024;

/**
 * Keeps the catalogues between runs, for as long as nobody removes them. Any number of processes may read and update at
 * once, and be killed: a catalogue is the old one or the new one. A plain copy lies beside the store, for when the
 * store is damaged, of a newer postern, or cannot be opened for writing.
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

  /** What is stored; nothing where nothing ever was. */
  async read(): Promise<StoredCatalogues> {
    if (!await this.#files.info(this.#path)) return { catalogues: await this.#copy() ?? [], notes: [] };
    try {
      const catalogues = await this.#readSettled();
      if (catalogues.length > 0) return { catalogues, notes: [] };
      // One that was begun anew has nothing before the first update is done, which may have been killed.
      return { catalogues: await this.#copy() ?? [], notes: [] };
    } catch (error) {
      const copy = await this.#copy().catch(() => undefined);
      if (!copy) throw withHint(error);
      // A place that is read-only is nothing to talk about: the copy says the same.
      const isRemarkable = error instanceof PosternError && error.detail !== undefined;
      return { catalogues: copy, notes: isRemarkable ? [`${describe(error)}: its copy is used`] : [] };
    }
  }

  /** A store that another process makes in this moment looks damaged until that is done. */
  async #readSettled(): Promise<readonly Catalogue[]> {
    const read = async () => {
      using store = await this.#stores.open(this.#path);
      return await (await Generations.of(store, this.#path)).read();
    };
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof PosternError) || error.detail !== "damaged") throw error;
      // Where no lock can be had nobody writes either.
      using _lock = await this.#lock(new AbortController().signal).catch(() => undefined);
      return await read();
    }
  }

  /** Stores a catalogue in the place of the one of its name. Gives what a person should know of it. */
  put(catalogue: Catalogue, { signal }: { signal: AbortSignal }): Promise<readonly string[]> {
    return this.#change(
      signal,
      (generations, restored) =>
        generations.write([...restored.filter(({ name }) => name !== catalogue.name), catalogue]),
    );
  }

  /** Forgets a catalogue. */
  remove(name: string, { signal }: { signal: AbortSignal }): Promise<readonly string[]> {
    return this.#change(signal, async (generations, restored) => {
      if (restored.length > 0) await generations.write(restored);
      await generations.remove(name);
    });
  }

  /** `restored` is what the copy still knows where the store is a new one. */
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
      notes.push(`${describe(error)}: the copy of the catalogue is an older one`);
    }
    return notes;
  }

  /** What killed updates have left of their copies: nobody writes one now but us, who have the lock. */
  async #sweep(): Promise<void> {
    for (const name of await this.#files.list(this.#directory)) {
      if (/^snapshot\.json\.[0-9a-f]{8}\.tmp$/.test(name)) {
        await this.#files.remove(`${this.#directory}/${name}`);
      }
    }
  }

  /** Nothing is lost: what this postern cannot use may be what another one needs, so it is set aside. */
  async #openUsable(notes: string[]): Promise<OpenedStore> {
    try {
      return await this.#open();
    } catch (error) {
      if (!(error instanceof PosternError) || (error.detail !== "damaged" && error.detail !== "newer")) {
        throw error;
      }
      const time = this.#clock.date().toISOString().replace(/\.[0-9]+/, "").replaceAll(/[-:]/g, "");
      const aside = await this.#stores.setAside(this.#path, `${error.detail}-${time}`);
      notes.push(`${describe(error)}: it is kept as "${aside}", and a new one was begun`);
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
          "Cannot store the catalogue: another postern has been at it for 30 s",
          {
            hint: `see which: lsof "${this.#directory}/lock"`,
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
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      throw damagedStore(path, "it is no JSON");
    }
    const { format, catalogues } = isMapping(value) ? value : {};
    if (format === undefined || !Array.isArray(catalogues)) {
      throw damagedStore(path, "it is no list of catalogues");
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
  return error.with({ hint: "postern update sets it aside and fetches the catalogue anew" });
}
