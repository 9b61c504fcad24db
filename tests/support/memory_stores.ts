import { PosternError } from "../../src/words/mod.ts";
import { type Store, type StoreKey, storeLimits, type Stores } from "../../src/world/mod.ts";
import type { StoreEntry } from "../../src/world/store.ts";
import type { MemoryFiles } from "./memory_files.ts";

/** Stores in memory whose files appear in `files`. They have the same limits as the real ones. */
export class MemoryStores implements Stores {
  /** The stores by path: their contents, or the error on opening. */
  readonly all = new Map<string, Map<string, unknown> | PosternError>();
  /** The number of open stores. */
  opened = 0;
  /** Called before each commit; may throw instead of it. */
  beforeCommit: (path: string) => void = () => {};
  readonly #files: MemoryFiles | undefined;

  constructor(files?: MemoryFiles) {
    this.#files = files;
  }

  open(path: string): Promise<Store> {
    const found = this.all.get(path);
    if (found instanceof PosternError) return Promise.reject(found);
    const values = found ?? new Map<string, unknown>();
    if (!found) this.#files?.put(path, "a store");
    this.all.set(path, values);
    this.opened++;
    return Promise.resolve(this.#store(path, values));
  }

  #store(path: string, values: Map<string, unknown>): Store {
    return {
      get: (key) => Promise.resolve(values.get(JSON.stringify(key))),
      list: (prefix) => {
        const entries = [...values].map(([key, value]): StoreEntry => ({ key: JSON.parse(key), value }));
        return Promise.resolve(
          entries.filter(({ key }) => prefix.every((part, at) => key[at] === part)).sort(byKey),
        );
      },
      commit: (changes) => {
        try {
          this.beforeCommit(path);
          if (changes.length > storeLimits.commitChanges) throw new TypeError("too many changes");
          for (const change of changes) {
            if ("remove" in change) continue;
            const { value } = change;
            const size = value instanceof Uint8Array ? value.length : JSON.stringify(value).length;
            if (size > storeLimits.valueBytes) throw new TypeError("value too large");
          }
        } catch (error) {
          return Promise.reject(error);
        }
        for (const change of changes) {
          if ("set" in change) values.set(JSON.stringify(change.set), structuredClone(change.value));
          else values.delete(JSON.stringify(change.remove));
        }
        return Promise.resolve();
      },
      [Symbol.dispose]: () => void this.opened--,
    };
  }

  async setAside(path: string, word: string): Promise<string> {
    const target = `${path}.${word}`;
    await this.#files?.remove(path);
    const values = this.all.get(path);
    this.all.delete(path);
    if (values) this.all.set(target, values);
    return target;
  }
}

function byKey(a: StoreEntry, b: StoreEntry): number {
  for (const [at, part] of a.key.entries()) {
    const other = b.key[at];
    if (other === undefined || part === other) continue;
    return part < other ? -1 : 1;
  }
  return compareLengths(a.key, b.key);
}

function compareLengths(a: StoreKey, b: StoreKey): number {
  return a.length - b.length;
}
