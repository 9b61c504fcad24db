import { trimmed } from "./blanks.ts";

/**
 * The header fields of a message with their original order and case. Lookups ignore case. Immutable: edits
 * return a new object.
 */
export class Fields {
  readonly #names: readonly string[];
  readonly #values: readonly string[];
  /** The lowercase names, created by the first lookup: a forwarded head needs none. */
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

  /** All values of a field, one per line. */
  all(name: string): readonly string[] {
    const key = name.toLowerCase();
    const keys = this.#lowered();
    return this.#values.filter((_, index) => keys[index] === key);
  }

  has(name: string): boolean {
    return this.#lowered().includes(name.toLowerCase());
  }

  /** The elements of a comma-separated list over all its lines (RFC 9110, section 5.6.1), in lowercase. */
  tokens(name: string): readonly string[] {
    if (!this.has(name)) return [];
    return this.all(name).join(",").toLowerCase().split(",").map((token) => trimmed(token)).filter((token) =>
      token !== ""
    );
  }

  /** Returns the fields without some names. */
  without(names: Iterable<string>): Fields {
    const dropped = new Set([...names].map((name) => name.toLowerCase()));
    return new Fields([...this.entries()].filter(([name]) => !dropped.has(name.toLowerCase())));
  }

  /** Returns the fields with one set, at its first line or at the end. */
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
