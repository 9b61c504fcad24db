/** The metadata of a Linux program. */
export interface Elf {
  readonly machine: "amd64" | "arm64";
  /** The dynamic loader; undefined for a static program. */
  readonly interpreter: string | undefined;
  /** The names of the required libraries. */
  readonly needed: readonly string[];
  /** The oldest supported version of the GNU C library, for example `2.27`. */
  readonly glibc: string | undefined;
}

const machines: Readonly<Record<number, Elf["machine"]>> = { 62: "amd64", 183: "arm64" };
const kinds = { load: 1, dynamic: 2, interpreter: 3 };
const tags = { needed: 1n, strings: 5n, stringsSize: 10n };

/** A part of the file, and its memory address. */
interface Segment {
  readonly kind: number;
  readonly offset: number;
  readonly address: bigint;
  readonly size: number;
}

/** Reads the requirements of a 64-bit little-endian program or library. */
export function readElf(bytes: Uint8Array<ArrayBuffer>): Elf {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 64 || view.getUint32(0) !== 0x7f454c46) {
    throw new Error("Cannot read the file: not a Linux program");
  }
  if (bytes[4] !== 2 || bytes[5] !== 1) throw new Error("Cannot read the file: not 64-bit little-endian");
  const machine = machines[view.getUint16(18, true)];
  if (machine === undefined) {
    throw new Error(`Cannot read the file: unknown machine ${view.getUint16(18, true)}`);
  }
  const segments = readSegments(view);
  const [interpreter] = segments.filter(({ kind }) => kind === kinds.interpreter).map(({ offset, size }) =>
    textAt(bytes, offset, size)
  );
  return { machine, interpreter, ...readNeeds(bytes, view, segments) };
}

function readSegments(view: DataView): Segment[] {
  const start = Number(view.getBigUint64(32, true)), size = view.getUint16(54, true);
  return Array.from({ length: view.getUint16(56, true) }, (_, index) => {
    const at = start + index * size;
    return {
      kind: view.getUint32(at, true),
      offset: Number(view.getBigUint64(at + 8, true)),
      address: view.getBigUint64(at + 16, true),
      size: Number(view.getBigUint64(at + 32, true)),
    };
  });
}

function readNeeds(
  bytes: Uint8Array<ArrayBuffer>,
  view: DataView,
  segments: readonly Segment[],
): Pick<Elf, "needed" | "glibc"> {
  const dynamic = segments.find(({ kind }) => kind === kinds.dynamic);
  if (!dynamic) return { needed: [], glibc: undefined };
  const entries = Array.from({ length: Math.floor(dynamic.size / 16) }, (_, index) => {
    const at = dynamic.offset + 16 * index;
    return { tag: view.getBigUint64(at, true), value: view.getBigUint64(at + 8, true) };
  });
  const valueOf = (wanted: bigint) => entries.find(({ tag }) => tag === wanted)?.value;
  const strings = valueOf(tags.strings);
  // The file gives the memory address of the table of names.
  const part = segments.find(({ kind, address, size }) =>
    strings !== undefined && kind === kinds.load && address <= strings && strings < address + BigInt(size)
  );
  if (strings === undefined || !part) return { needed: [], glibc: undefined };
  const start = part.offset + Number(strings - part.address);
  const table = bytes.subarray(start, start + Number(valueOf(tags.stringsSize) ?? 0n));
  return {
    needed: entries.filter(({ tag }) => tag === tags.needed).map(({ value }) =>
      textAt(table, Number(value), 4096)
    ),
    glibc: newestGlibc(new TextDecoder("latin1").decode(table)),
  };
}

/** Finds the newest version of the C library among the symbol versions in the names. */
function newestGlibc(names: string): string | undefined {
  const minors = [...names.matchAll(/\0GLIBC_2\.(\d+)/g)].map(([, minor]) => Number(minor));
  return minors.length === 0 ? undefined : `2.${Math.max(...minors)}`;
}

/** Reads text up to a zero byte. */
function textAt(bytes: Uint8Array<ArrayBuffer>, at: number, most: number): string {
  const whole = bytes.subarray(at, at + most);
  const end = whole.indexOf(0);
  return new TextDecoder().decode(end < 0 ? whole : whole.subarray(0, end));
}
