import type { FarDomain, FarTable, FarTables } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";

/** The tables of a cluster that is opened by the first caller of `follow`. */
export class LateTables implements FarTables, Disposable {
  readonly #open: (signal: AbortSignal) => Promise<FarTables | undefined>;
  readonly #listeners = new Set<() => void>();
  #tables: FarTables | undefined;
  #ear: Disposable | undefined;
  #isUnreadable = false;

  constructor(open: (signal: AbortSignal) => Promise<FarTables | undefined>) {
    this.#open = open;
  }

  get current(): FarTable | undefined {
    return this.#tables?.current;
  }

  get domain(): FarDomain | undefined {
    return this.#tables?.domain;
  }

  get server(): string | undefined {
    return this.#tables?.server;
  }

  get signingInWith(): string | undefined {
    return this.#tables?.signingInWith;
  }

  get isRecalled(): boolean {
    return this.#tables?.isRecalled ?? this.#isUnreadable;
  }

  allowSignIn(): void {
    this.#tables?.allowSignIn?.();
  }

  async recall({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    try {
      await (await this.#opened(signal))?.recall({ signal });
    } catch (error) {
      if (!(error instanceof PosternError) || signal.aborted) throw error;
      // An unreadable kubeconfig names no cluster to recall; `follow` rejects with the reason.
      this.#isUnreadable = true;
      this.#changed();
    }
  }

  async follow(options: { readonly signal: AbortSignal; readonly learns?: boolean }): Promise<void> {
    const tables = await this.#opened(options.signal);
    await tables?.follow(options);
    this.#changed();
  }

  async #opened(signal: AbortSignal): Promise<FarTables | undefined> {
    const tables = await this.#open(signal);
    this.#isUnreadable = false;
    if (tables && tables !== this.#tables) {
      // A changed kubeconfig may name another cluster.
      this.#ear?.[Symbol.dispose]();
      this.#tables = tables;
      this.#ear = tables.onChange(() => this.#changed());
    }
    return tables;
  }

  /**
   * Uses only these tables from now on and forgets others, so that the next `follow` opens the current
   * cluster.
   */
  keepOnly(tables: FarTables | undefined): void {
    if (!this.#tables || this.#tables === tables) return;
    this.#ear?.[Symbol.dispose]();
    this.#ear = this.#tables = undefined;
    this.#isUnreadable = false;
    this.#changed();
  }

  onChange(changed: () => void): Disposable {
    this.#listeners.add(changed);
    return { [Symbol.dispose]: () => void this.#listeners.delete(changed) };
  }

  [Symbol.dispose](): void {
    this.#ear?.[Symbol.dispose]();
    this.#listeners.clear();
  }

  #changed(): void {
    for (const changed of this.#listeners) changed();
  }
}
