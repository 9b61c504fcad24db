/** The header fields of a message in the order and case they came in; lookups ignore case. Never changed: edits make a new one. */
export class Fields {
  readonly #names: readonly string[];
  readonly #values: readonly string[];
  /** The names in lower case, made on the first lookup: a head that is only passed on needs none. */
  #keys: readonly string[] | undefined;

  constructor(entries: Iterable<readonly [name: string, value: string]> = []) {
    const names: string[] = [];
    const values: string[] = [];
    for (const [name, value] of entries) {
      names.push(name);
      values.push(value);
    }
    this.#names = names;
    this.#values = values;
  }

  get size(): number {
    return this.#names.length;
  }

  /** The first value of a field. */
  get(name: string): string | undefined {
    const at = this.#lowered().indexOf(name.toLowerCase());
    return at < 0 ? undefined : this.#values[at];
  }

  /** Every value of a field, one a line. */
  all(name: string): readonly string[] {
    const key = name.toLowerCase();
    const keys = this.#lowered();
    return this.#values.filter((_, index) => keys[index] === key);
  }

  has(name: string): boolean {
    return this.#lowered().includes(name.toLowerCase());
  }

  /** The elements of a comma-separated list over all its lines (RFC 9110, section 5.6.1), in lower case. */
  tokens(name: string): readonly string[] {
    if (!this.has(name)) return [];
    return this.all(name).join(",").toLowerCase().split(",").map((token) => token.trim()).filter((token) =>
      token !== ""
    );
  }

  /** The same fields, less some. */
  without(names: Iterable<string>): Fields {
    const dropped = new Set([...names].map((name) => name.toLowerCase()));
    return new Fields([...this.entries()].filter(([name]) => !dropped.has(name.toLowerCase())));
  }

  /** The same fields with one set: in the place of its first line, or at the end. */
  with(name: string, value: string): Fields {
    const key = name.toLowerCase();
    const entries: [string, string][] = [];
    let isSet = false;
    for (const entry of this.entries()) {
      if (entry[0].toLowerCase() !== key) entries.push(entry);
      else if (!isSet) {
        entries.push([name, value]);
        isSet = true;
      }
    }
    if (!isSet) entries.push([name, value]);
    return new Fields(entries);
  }

  *entries(): IterableIterator<[name: string, value: string]> {
    for (const [index, name] of this.#names.entries()) yield [name, this.#values[index] ?? ""];
  }

  [Symbol.iterator](): IterableIterator<[name: string, value: string]> {
    return this.entries();
  }

  #lowered(): readonly string[] {
    return this.#keys ??= this.#names.map((name) => name.toLowerCase());
  }
}
