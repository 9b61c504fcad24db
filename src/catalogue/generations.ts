import { isMapping } from "../config/mod.ts";
import { hexText, joinBytes, jsonIn, sha256 } from "../core/mod.ts";
import { type Store, type StoreChange, type StoreKey, storeLimits } from "../world/mod.ts";
import type { Catalogue } from "../clusters/mod.ts";
import { damagedStore, demandKnownFormat, readStoredCatalogue, storedFormat } from "./stored_catalogue.ts";

const formatKey: StoreKey = ["format"];
const pointers: StoreKey = ["catalogue"];
const pieces: StoreKey = ["piece"];

/** Points to the current generation of a catalogue: the number of pieces and their checksum. */
interface Pointer {
  readonly generation: string;
  readonly pieces: number;
  readonly sha256: string;
}

/** How many times a reader starts again because a writer removed the generation that it was reading. */
const mostTries = 10;

/**
 * Catalogues in a store. A value may have 64 KiB and a commit 800 KiB. So each catalogue is written as a new
 * generation of pieces, and then one small pointer switches to it: readers see the old catalogue or the new
 * one.
 */
export class Generations {
  readonly #store: Store;
  readonly #path: string;

  private constructor(store: Store, path: string) {
    this.#store = store;
    this.#path = path;
  }

  /** Throws `newer` if a newer postern wrote the store. */
  static async of(store: Store, path: string): Promise<Generations> {
    demandKnownFormat(plain(await store.get(formatKey), path), path);
    return new Generations(store, path);
  }

  /** All current catalogues, sorted by name. */
  async read(): Promise<readonly Catalogue[]> {
    for (let tries = 1;; tries++) {
      const catalogues: Catalogue[] = [];
      let isWhole = true;
      for (const { value } of await this.#store.list(pointers)) {
        const catalogue = await this.#read(this.#pointer(value));
        if (catalogue) catalogues.push(catalogue);
        else isWhole = false;
      }
      if (isWhole) return catalogues;
      if (tries === mostTries) throw damagedStore(this.#path, "a part of a catalogue is missing");
    }
  }

  /**
   * Writes catalogues and then switches to all of them at once; replaces catalogues with the same names. Only
   * one process may write at a time. Also removes unused pieces, including those of killed writers.
   */
  async write(catalogues: readonly Catalogue[]): Promise<void> {
    try {
      const switches: StoreChange[] = [{ set: formatKey, value: written(storedFormat) }];
      for (const catalogue of catalogues) {
        const pointer = await this.#writePieces(catalogue);
        switches.push({ set: [...pointers, catalogue.name], value: written(pointer) });
      }
      await this.#store.commit(switches);
    } finally {
      // A failed cleanup does not fail the update; the next update cleans up too.
      await this.#sweep().catch(() => {});
    }
  }

  async remove(name: string): Promise<void> {
    await this.#store.commit([{ remove: [...pointers, name] }]);
    await this.#sweep();
  }

  async #writePieces(catalogue: Catalogue): Promise<Pointer> {
    const generation = crypto.randomUUID();
    const bytes = new TextEncoder().encode(JSON.stringify(catalogue));
    const { valueBytes, commitBytes } = storeLimits;
    const perCommit = Math.floor(commitBytes / valueBytes);
    const count = Math.ceil(bytes.length / valueBytes);
    for (let first = 0; first < count; first += perCommit) {
      const changes: StoreChange[] = [];
      for (let index = first; index < Math.min(count, first + perCommit); index++) {
        const value = bytes.slice(index * valueBytes, (index + 1) * valueBytes);
        changes.push({ set: [...pieces, generation, index], value });
      }
      await this.#store.commit(changes);
    }
    return { generation, pieces: count, sha256: hexText(await sha256(bytes)) };
  }

  /** Undefined if pieces are missing: another process has just written a newer generation. */
  async #read({ generation, pieces: count, sha256: sum }: Pointer): Promise<Catalogue | undefined> {
    const found = await this.#store.list([...pieces, generation]);
    const parts = found.flatMap(({ value }) => value instanceof Uint8Array ? [value] : []);
    if (parts.length !== count) return undefined;
    const bytes = joinBytes(parts);
    if (hexText(await sha256(bytes)) !== sum) {
      throw damagedStore(this.#path, "a part of a catalogue has changed");
    }
    return readStoredCatalogue(JSON.parse(new TextDecoder().decode(bytes)), this.#path);
  }

  #pointer(value: unknown): Pointer {
    const pointer = plain(value, this.#path);
    const { generation, pieces, sha256 } = isMapping(pointer) ? pointer : {};
    if (typeof generation === "string" && typeof pieces === "number" && typeof sha256 === "string") {
      return { generation, pieces, sha256 };
    }
    throw damagedStore(this.#path, "its pointer to a catalogue is invalid");
  }

  async #sweep(): Promise<void> {
    const needed = new Set<unknown>();
    for (const { value } of await this.#store.list(pointers)) needed.add(this.#pointer(value).generation);
    const left = (await this.#store.list(pieces)).filter(({ key: [, generation] }) =>
      !needed.has(generation)
    );
    const { commitChanges } = storeLimits;
    for (let at = 0; at < left.length; at += commitChanges) {
      await this.#store.commit(left.slice(at, at + commitChanges).map(({ key }) => ({ remove: key })));
    }
  }
}

/** A value as JSON bytes; older runtimes may not read the stored form of objects. */
function written(value: unknown): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(value));
}

function plain(value: unknown, path: string): unknown {
  if (!(value instanceof Uint8Array)) return value;
  const read = jsonIn(value);
  if (read === undefined) throw damagedStore(path, "it contains a value that is not JSON");
  return read;
}
