import type { FarTable, FarTables } from "../../core/mod.ts";

/** The tables of a cluster that nobody has used yet: the first who follows them has it used. */
export class LateTables implements FarTables, Disposable {
  readonly #open: (signal: AbortSignal) => Promise<FarTables | undefined>;
  readonly #listeners = new Set<() => void>();
  #tables: FarTables | undefined;
  #ear: Disposable | undefined;

  constructor(open: (signal: AbortSignal) => Promise<FarTables | undefined>) {
    this.#open = open;
  }

  get current(): FarTable | undefined {
    return this.#tables?.current;
  }

  async follow({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    const tables = await this.#open(signal);
    if (tables && tables !== this.#tables) {
      // Another one where the kubeconfig has changed.
      this.#ear?.[Symbol.dispose]();
      this.#tables = tables;
      this.#ear = tables.onChange(() => this.#changed());
    }
    await tables?.follow({ signal });
    this.#changed();
  }

  /** From now on only these count; others are forgotten, so that the next who needs a table follows the cluster of now. */
  keepOnly(tables: FarTables | undefined): void {
    if (!this.#tables || this.#tables === tables) return;
    this.#ear?.[Symbol.dispose]();
    this.#ear = this.#tables = undefined;
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
