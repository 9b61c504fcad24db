/** Keys are ordered; keys with the same prefix are adjacent. */
export type StoreKey = readonly (string | number)[];

/** One change of a commit. */
export type StoreChange =
  | { readonly set: StoreKey; readonly value: unknown }
  | { readonly remove: StoreKey };

export interface StoreEntry {
  readonly key: StoreKey;
  readonly value: unknown;
}

/** A key-value store on disk, shared by several processes. Values are bytes or JSON. */
export interface Store extends Disposable {
  /** Undefined if the key has no value. */
  get(key: StoreKey): Promise<unknown>;
  /** All entries below a key, in order. Concurrent changes may or may not be included. */
  list(prefix: StoreKey): Promise<readonly StoreEntry[]>;
  /** Applies all changes or none, even if the machine crashes. `storeLimits` limits a commit. */
  commit(changes: readonly StoreChange[]): Promise<void>;
}

/** The stores of this machine. */
export interface Stores {
  /** Opens a store; creates it if missing. A broken store is a `config` error with the detail `damaged`. */
  open(path: string): Promise<Store>;
  /** Renames a store that no process uses to a path that ends with `word`; returns that path. */
  setAside(path: string, word: string): Promise<string>;
}

/** The limits of a commit, measured with Deno 2.9.6, which reports them for values and commits. */
export const storeLimits = { valueBytes: 60_000, commitBytes: 700_000, commitChanges: 900 } as const;
