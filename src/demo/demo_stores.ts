import { PosternError } from "../words/mod.ts";
import type { Store, StoreKey, Stores } from "../world/mod.ts";

/** Stores in memory only. */
export class DemoStores implements Stores {
  readonly #stores = new Map<string, Map<string, Entry>>();

  open(path: string): Promise<Store> {
    const entries = this.#stores.get(path) ?? new Map<string, Entry>();
    this.#stores.set(path, entries);
    return Promise.resolve({
      get: (key) => Promise.resolve(entries.get(nameOf(key))?.value),
      list: (prefix) =>
        Promise.resolve(
          [...entries.values()].filter(({ key }) => prefix.every((part, at) => key[at] === part)).sort(
            inOrder,
          ),
        ),
      commit: (changes) => {
        for (const change of changes) {
          if ("set" in change) {
            const { set: key, value } = change;
            entries.set(nameOf(key), { key, value: structuredClone(value) });
          } else entries.delete(nameOf(change.remove));
        }
        return Promise.resolve();
      },
      [Symbol.dispose]() {},
    });
  }

  setAside(path: string): Promise<string> {
    return Promise.reject(new PosternError("internal", `Cannot rename the store "${path}": it is in memory`));
  }
}

interface Entry {
  readonly key: StoreKey;
  readonly value: unknown;
}

function nameOf(key: StoreKey): string {
  return JSON.stringify(key);
}

/**
 * Orders keys like a store on disk. Key parts at the same position have the same type: all numbers or all
 * strings.
 */
function inOrder({ key: one }: Entry, { key: other }: Entry): number {
  for (const [at, part] of one.entries()) {
    const against = other[at];
    if (against === undefined) return 1;
    if (part !== against) return part < against ? -1 : 1;
  }
  return one.length - other.length;
}
