/**
 * Names by hash, made for asking after every suffix of a host: the hash runs from the last character to the
 * first, so each suffix costs only its own characters, and no part of the host is copied. Hashes lie beside
 * their index in one block of memory: a suffix without a rule touches nothing else.
 */
export class SuffixTable<T extends { readonly name: string }> {
  readonly #values: T[] = [];
  /** Pairs of a hash and an index plus one; an index of 0 is a free place. At most half of them are taken. */
  #places = new Int32Array(2 * 16);

  /** The value of a name, made if missing. */
  at(name: string, make: (name: string) => T): T {
    let hash = seed;
    for (let at = name.length - 1; at >= 0; at--) hash = nextHash(hash, name.charCodeAt(at));
    const found = this.find(name, 0, hash);
    if (found !== undefined) return found;
    const value = make(name);
    this.#values.push(value);
    if (this.#values.length * 4 > this.#places.length) this.#grow();
    put(this.#places, hash, this.#values.length);
    return value;
  }

  /** The value of the part of `host` from `start` on, whose hash was made by `nextHash`. */
  find(host: string, start: number, hash: number): T | undefined {
    const places = this.#places;
    const mask = places.length - 2;
    for (let place = firstPlace(hash, mask);; place = place + 2 & mask) {
      const index = places[place + 1] ?? 0;
      if (index === 0) return undefined;
      if (places[place] === hash) {
        const value = this.#values[index - 1];
        if (value?.name.length === host.length - start && host.endsWith(value.name)) return value;
      }
    }
  }

  #grow(): void {
    const old = this.#places;
    this.#places = new Int32Array(old.length * 4);
    for (let place = 0; place < old.length; place += 2) {
      const index = old[place + 1] ?? 0;
      if (index !== 0) put(this.#places, old[place] ?? 0, index);
    }
  }
}

/** The hash of an empty suffix. */
export const seed = 0x1505;

/** The hash of a suffix with one more character in front. */
export function nextHash(hash: number, code: number): number {
  return Math.imul(hash, 31) + code | 0;
}

function put(places: Int32Array, hash: number, index: number): void {
  const mask = places.length - 2;
  let place = firstPlace(hash, mask);
  while (places[place + 1] !== 0) place = place + 2 & mask;
  places[place] = hash;
  places[place + 1] = index;
}

/** Spreads hashes that differ little; even, since places are pairs. */
function firstPlace(hash: number, mask: number): number {
  const spread = Math.imul(hash ^ hash >>> 16, 0x45d9f3b);
  return (spread ^ spread >>> 15) << 1 & mask;
}
