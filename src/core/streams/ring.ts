/** A ring buffer: a new element replaces the oldest one. */
export class Ring<T> {
  readonly #size: number;
  readonly #kept: T[] = [];
  #count = 0;

  constructor(size: number) {
    this.#size = size;
  }

  /** How many elements were added so far. */
  get count(): number {
    return this.#count;
  }

  push(value: T): void {
    this.#kept[this.#count++ % this.#size] = value;
  }

  /** The remaining elements after the first `count`, oldest first. */
  since(count = 0): T[] {
    const first = Math.max(count, this.#count - this.#size, 0);
    const found: T[] = [];
    for (let at = first; at < this.#count; at++) {
      const value = this.#kept[at % this.#size];
      if (value !== undefined) found.push(value);
    }
    return found;
  }
}
