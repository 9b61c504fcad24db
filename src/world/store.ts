/** Keys are ordered, and those that begin alike lie together. */
export type StoreKey = readonly (string | number)[];

/** One step of a commit. */
export type StoreChange =
  | { readonly set: StoreKey; readonly value: unknown }
  | { readonly remove: StoreKey };

export interface StoreEntry {
  readonly key: StoreKey;
  readonly value: unknown;
}

/** Values by key on the disk, which several processes may have open at once. Values are bytes, or what JSON has. */
export interface Store extends Disposable {
  /** Undefined where there is none. */
  get(key: StoreKey): Promise<unknown>;
  /** Everything below a key, in order. A change meanwhile may be in it or not. */
  list(prefix: StoreKey): Promise<readonly StoreEntry[]>;
  /** All changes or none, also when the machine stops. What one commit may hold: `storeLimits`. */
  commit(changes: readonly StoreChange[]): Promise<void>;
}

/** The stores of this machine. */
export interface Stores {
  /** Opens a store, made if missing; one that cannot be used any more is `config` with the detail `damaged`. */
  open(path: string): Promise<Store>;
  /** Moves a store that nobody has open out of the way, to a path that ends with `word`; gives that path. */
  setAside(path: string, word: string): Promise<string>;
}

/** What a commit may hold: measured with Deno 2.9.6, which says so for values and commits alike. */
export const storeLimits = { valueBytes: 60_000, commitBytes: 700_000, commitChanges: 900 } as const;
