/** Load commands with file offsets, by number (`mach-o/loader.h`), and the positions of the offsets. */
const offsetsOf: Readonly<Record<number, readonly number[]>> = {
  0x2: [8, 16], // LC_SYMTAB
  0xb: [32, 40, 48, 56, 64, 72], // LC_DYSYMTAB
  0x1d: [8], // LC_CODE_SIGNATURE
  0x26: [8], // LC_FUNCTION_STARTS
  0x29: [8], // LC_DATA_IN_CODE
  0x80000022: [8, 16, 24, 32, 40], // LC_DYLD_INFO_ONLY
};

const segmentCommand = 0x19;
const headerSize = 32;

/**
 * Removes a segment that precedes `__LINKEDIT` from a 64-bit little-endian Mach-O program. This invalidates
 * the signature, which `deno compile` replaces.
 */
export function withoutSegment(program: Uint8Array<ArrayBuffer>, name: string): Uint8Array<ArrayBuffer> {
  const view = new DataView(program.buffer, program.byteOffset, program.byteLength);
  const commands = [...readCommands(view)];
  const segment = commands.find(({ at, type }) => type === segmentCommand && segmentName(view, at) === name);
  if (segment === undefined) {
    throw new Error(`Cannot remove the segment ${name}: the program does not have it`);
  }
  const start = Number(view.getBigUint64(segment.at + 40, true));
  const size = Number(view.getBigUint64(segment.at + 48, true));
  const kept = program.slice();
  const target = new DataView(kept.buffer);
  for (const { at, type } of commands) {
    if (type === segmentCommand && segmentName(view, at) === "__LINKEDIT") {
      target.setBigUint64(at + 24, view.getBigUint64(segment.at + 24, true), true);
      target.setBigUint64(at + 40, BigInt(start), true);
    }
    for (const field of offsetsOf[type] ?? []) {
      const offset = view.getUint32(at + field, true);
      if (offset >= start) target.setUint32(at + field, offset - size, true);
    }
  }
  target.setUint32(16, commands.length - 1, true);
  const commandsEnd = headerSize + view.getUint32(20, true);
  target.setUint32(20, commandsEnd - headerSize - segment.size, true);
  kept.copyWithin(segment.at, segment.at + segment.size, commandsEnd);
  kept.fill(0, commandsEnd - segment.size, commandsEnd);
  kept.copyWithin(start, start + size);
  return kept.subarray(0, kept.length - size);
}

interface Command {
  readonly at: number;
  readonly type: number;
  readonly size: number;
}

function* readCommands(view: DataView): Generator<Command> {
  if (view.getUint32(0, true) !== 0xfeedfacf) {
    throw new Error("Cannot read the program: not a 64-bit Mach-O file");
  }
  let at = headerSize;
  for (let left = view.getUint32(16, true); left > 0; left--) {
    const size = view.getUint32(at + 4, true);
    yield { at, type: view.getUint32(at, true), size };
    at += size;
  }
}

function segmentName(view: DataView, at: number): string {
  const bytes = new Uint8Array(view.buffer, view.byteOffset + at + 8, 16);
  return new TextDecoder().decode(bytes).replace(/\0+$/, "");
}
