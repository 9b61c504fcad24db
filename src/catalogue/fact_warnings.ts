import type { FactWarning } from "../clusters/mod.ts";

/** How many warnings of a catalogue are kept: more than anybody reads, and less than what fills a memory. */
const mostKept = 1000;

/** The warnings of one reading; of those beyond what anybody reads only the number is kept. */
export class FactWarnings {
  readonly #kept: FactWarning[] = [];
  #more = 0;

  add(warning: FactWarning): void {
    if (this.#kept.length < mostKept) this.#kept.push(warning);
    else this.#more++;
  }

  get all(): readonly FactWarning[] {
    if (this.#more === 0) return this.#kept;
    return [...this.#kept, { cluster: "and others", message: `${this.#more} more warnings are not kept` }];
  }
}
