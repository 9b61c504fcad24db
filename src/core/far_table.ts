/** What is on the far side of a transport right now, for rules that ask for it. */
export interface FarTable {
  /** `web` for those of the usual namespace, `web.shop` for any. Lower case. */
  readonly services: ReadonlySet<string>;
  /** Addresses of services and of what is behind them, in canonical form. */
  readonly addresses: ReadonlySet<string>;
}

/** A transport whose far side can be looked up without dialling. */
export interface FarTables {
  /** What is there now; undefined while that is not known. The same object until something has changed. */
  readonly current: FarTable | undefined;
  /** Begins to follow what is there, and resolves when that is known; fails with the reason why it is not. */
  follow(options: { readonly signal: AbortSignal }): Promise<void>;
  /** Calls `changed` whenever `current` is another one. */
  onChange(changed: () => void): Disposable;
}
