import type { FactWarning } from "../clusters/mod.ts";

/** How many warnings of a catalogue are kept, so that an invalid catalogue cannot fill the memory. */
const mostKept = 1000;

/** Collects the warnings of one read; counts those beyond the limit. */
export class FactWarnings {
  readonly #kept: FactWarning[] = [];
  #more = 0;

  add(warning: FactWarning): void {
    if (this.#kept.length < mostKept) this.#kept.push(warning);
    else this.#more++;
  }

  get all(): readonly FactWarning[] {
    if (this.#more === 0) return this.#kept;
    return [...this.#kept, { cluster: "(others)", message: `${this.#more} more warnings` }];
  }
}
