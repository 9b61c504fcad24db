/**
 * A hash table of names for looking up every suffix of a host. The hash runs from the last character to the
 * first, so each suffix costs only its own characters, and the host is never copied. In a large table each
 * object is a cache miss, so two typed arrays hold hashes and names. A suffix without a rule touches one
 * place; a suffix with a rule touches that place, the characters of its name, and the value.
 */
export class SuffixTable<T> {
  readonly #values: T[] = [];
  /** At most half of the places are used. */
  #places = new Int32Array(16 * placeSize);
  /** The characters of all names, concatenated. */
  #text = new Uint8Array(256);
  #textEnd = 0;

  get isEmpty(): boolean {
    return this.#values.length === 0;
  }

  /** Returns the value of a name; creates it if missing. Names of rules are ASCII. */
  at(name: string, make: () => T): T {
    let hash = seed;
    for (let at = name.length - 1; at >= 0; at--) hash = nextHash(hash, name.charCodeAt(at));
    const found = this.find(name, 0, hash);
    if (found !== undefined) return found;
    const value = make();
    this.#values.push(value);
    if (this.#values.length * 2 * placeSize > this.#places.length) this.#grow();
    const place = this.#freePlace(hash);
    this.#places[place] = hash;
    this.#places[place + 1] = this.#values.length;
    this.#places[place + 2] = this.#textEnd;
    this.#places[place + 3] = name.length;
    this.#keep(name);
    return value;
  }

  /** Returns the value for the suffix of `host` at `start`, whose hash comes from `nextHash`. */
  find(host: string, start: number, hash: number): T | undefined {
    const places = this.#places;
    const mask = places.length - placeSize;
    for (let at = firstPlace(hash, mask);; at = at + placeSize & mask) {
      const index = places[at + 1] ?? 0;
      if (index === 0) return undefined;
      if (places[at] === hash && places[at + 3] === host.length - start) {
        if (this.#isAt(places[at + 2] ?? 0, host, start)) return this.#values[index - 1];
      }
    }
  }

  #isAt(textStart: number, host: string, start: number): boolean {
    const text = this.#text;
    for (let at = start, from = textStart; at < host.length; at++, from++) {
      if (text[from] !== host.charCodeAt(at)) return false;
    }
    return true;
  }

  #keep(name: string): void {
    if (this.#textEnd + name.length > this.#text.length) {
      const old = this.#text;
      this.#text = new Uint8Array(old.length * 2 + name.length);
      this.#text.set(old);
    }
    for (let at = 0; at < name.length; at++) this.#text[this.#textEnd++] = name.charCodeAt(at);
  }

  #grow(): void {
    const old = this.#places;
    this.#places = new Int32Array(old.length * 2);
    for (let from = 0; from < old.length; from += placeSize) {
      if (old[from + 1] === 0) continue;
      const to = this.#freePlace(old[from] ?? 0);
      for (let part = 0; part < placeSize; part++) this.#places[to + part] = old[from + part] ?? 0;
    }
  }

  #freePlace(hash: number): number {
    const mask = this.#places.length - placeSize;
    let at = firstPlace(hash, mask);
    while (this.#places[at + 1] !== 0) at = at + placeSize & mask;
    return at;
  }
}

/** The hash of an empty suffix. */
export const seed = 0x1505;

/** Extends the hash of a suffix by one character at its front. */
export function nextHash(hash: number, code: number): number {
  return Math.imul(hash, 31) + code | 0;
}

/**
 * A place consists of the hash, the index of the value plus one (0: free), and the offset and length of the
 * name.
 */
const placeSize = 4;

/** Spreads similar hashes. */
function firstPlace(hash: number, mask: number): number {
  const spread = Math.imul(hash ^ hash >>> 16, 0x45d9f3b);
  return (spread ^ spread >>> 15) * placeSize & mask;
}
