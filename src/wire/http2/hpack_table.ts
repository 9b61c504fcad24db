/** A header field with a lowercase name. */
export type HeaderField = readonly [name: string, value: string];

/** Returns the value of the first field with this name. */
export function fieldValue(fields: readonly HeaderField[], name: string): string | undefined {
  return fields.find(([other]) => other === name)?.[1];
}

/** The static table (RFC 7541, appendix A); the first field has index 1. */
export const staticFields: readonly HeaderField[] = [
  ":authority",
  ":method GET",
  ":method POST",
  ":path /",
  ":path /index.html",
  ":scheme http",
  ":scheme https",
  ...["200", "204", "206", "304", "400", "404", "500"].map((status) => `:status ${status}`),
  "accept-charset",
  "accept-encoding gzip, deflate",
  "accept-language",
  "accept-ranges",
  "accept",
  "access-control-allow-origin",
  "age",
  "allow",
  "authorization",
  "cache-control",
  "content-disposition",
  "content-encoding",
  "content-language",
  "content-length",
  "content-location",
  "content-range",
  "content-type",
  "cookie",
  "date",
  "etag",
  "expect",
  "expires",
  "from",
  "host",
  "if-match",
  "if-modified-since",
  "if-none-match",
  "if-range",
  "if-unmodified-since",
  "last-modified",
  "link",
  "location",
  "max-forwards",
  "proxy-authenticate",
  "proxy-authorization",
  "range",
  "referer",
  "refresh",
  "retry-after",
  "server",
  "set-cookie",
  "strict-transport-security",
  "transfer-encoding",
  "user-agent",
  "vary",
  "via",
  "www-authenticate",
].map((line) => {
  const space = line.indexOf(" ");
  return space < 0 ? [line, ""] as const : [line.slice(0, space), line.slice(space + 1)] as const;
});

/** The latest fields, newest first, up to a size in bytes (RFC 7541, section 4). */
export class DynamicTable {
  #fields: HeaderField[] = [];
  #size = 0;
  #capacity: number;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#size;
  }

  get length(): number {
    return this.#fields.length;
  }

  get capacity(): number {
    return this.#capacity;
  }

  set capacity(bytes: number) {
    this.#capacity = bytes;
    this.#shrinkTo(bytes);
  }

  /** Returns the field at `at`, where 0 is the newest. */
  at(at: number): HeaderField | undefined {
    return this.#fields[this.#fields.length - 1 - at];
  }

  /** Adds a field; one larger than the table empties it. */
  add(field: HeaderField): void {
    const size = fieldSize(field);
    this.#shrinkTo(Math.max(0, this.#capacity - size));
    if (size > this.#capacity) return;
    this.#fields.push(field);
    this.#size += size;
  }

  /** Returns the index of an equal field, and of any field with the same name. */
  find([name, value]: HeaderField): { equal?: number; named?: number } {
    let named: number | undefined;
    for (let at = 0; at < this.#fields.length; at++) {
      const field = this.at(at);
      if (field?.[0] !== name) continue;
      if (field[1] === value) return { equal: at, named: at };
      named ??= at;
    }
    return named === undefined ? {} : { named };
  }

  #shrinkTo(bytes: number): void {
    let gone = 0;
    while (this.#size > bytes) this.#size -= fieldSize(this.#fields[gone++] as HeaderField);
    if (gone > 0) this.#fields = this.#fields.slice(gone);
  }
}

/** The size of a field in a table and in limits on field lists. */
export function fieldSize([name, value]: HeaderField): number {
  return name.length + value.length + 32;
}
