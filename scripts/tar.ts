/** One entry of an archive; its path is relative, with slashes, but without a trailing slash. */
export type TarEntry =
  & {
    readonly path: string;
    /** The mode, for example `0o755`. */
    readonly mode: number;
    /** The ids of owner and group (default: root). */
    readonly owner?: number;
  }
  & (
    | { readonly type: "file"; readonly content: Uint8Array<ArrayBuffer> }
    | { readonly type: "directory" }
    | { readonly type: "link"; readonly to: string }
  );

const block = 512;
const kinds = { file: "0", link: "2", directory: "5" } as const;

/**
 * Yields a POSIX archive (ustar). Entries are sorted and have one time in seconds, so the same entries give
 * the same bytes.
 */
export function* writeTar(entries: readonly TarEntry[], time = 0): Generator<Uint8Array<ArrayBuffer>> {
  const sorted = entries.toSorted((a, b) => a.path < b.path ? -1 : 1);
  for (const [at, { path }] of sorted.entries()) {
    if (path === sorted[at + 1]?.path) {
      throw new Error(`Cannot add ${path} to the archive: it is already there`);
    }
  }
  for (const entry of sorted) {
    yield header(entry, time);
    if (entry.type !== "file") continue;
    yield entry.content;
    yield new Uint8Array(-entry.content.length & (block - 1));
  }
  yield new Uint8Array(2 * block);
}

/** Adds the parent directories of entries. */
export function withDirectories(entries: readonly TarEntry[]): TarEntry[] {
  const all = new Map(entries.map((entry) => [entry.path, entry]));
  for (const { path } of entries) {
    for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) {
      const above = path.slice(0, at);
      if (!all.has(above)) all.set(above, { type: "directory", path: above, mode: 0o755 });
    }
  }
  return [...all.values()];
}

// name 100, mode 8, owner 8, group 8, size 12, time 12, checksum 8, kind 1, link 100, "ustar" NUL "00",
// names of owner and group 32 each, device 8 and 8, what precedes the name 155
function header(entry: TarEntry, time: number): Uint8Array<ArrayBuffer> {
  const { type, mode, owner = 0 } = entry;
  const bytes = new Uint8Array(block);
  const text = new TextEncoder();
  const put = (at: number, value: string, room: number) => {
    const encoded = text.encode(value);
    if (encoded.length > room) {
      throw new Error(`Cannot add ${entry.path} to the archive: too long: ${value}`);
    }
    bytes.set(encoded, at);
  };
  // Numbers are octal, with a zero byte at the end.
  const number = (at: number, value: number, room: number) =>
    put(at, value.toString(8).padStart(room - 1, "0"), room - 1);
  const [before, name] = split(type === "directory" ? `${entry.path}/` : entry.path);
  put(0, name, 100);
  number(100, mode, 8);
  number(108, owner, 8);
  number(116, owner, 8);
  number(124, type === "file" ? entry.content.length : 0, 12);
  number(136, time, 12);
  put(148, " ".repeat(8), 8);
  put(156, kinds[type], 1);
  if (type === "link") put(157, entry.to, 100);
  put(257, "ustar\x0000", 8);
  number(329, 0, 8);
  number(337, 0, 8);
  put(345, before, 155);
  // The sum of all bytes, counting its own field as blanks.
  put(148, `${bytes.reduce((sum, byte) => sum + byte, 0).toString(8).padStart(6, "0")}\0 `, 8);
  return bytes;
}

/** Splits a path that is too long for its field at a slash. */
function split(path: string): [before: string, name: string] {
  if (path.length <= 100) return ["", path];
  const at = path.indexOf("/", path.length - 101);
  return at <= 0 || at === path.length - 1 ? ["", path] : [path.slice(0, at), path.slice(at + 1)];
}
