import assert from "node:assert/strict";
import { withoutSegment } from "../../../scripts/macho.ts";

interface Segment {
  readonly name: string;
  readonly address: number;
  readonly data: string;
}

const commandsAt = 32, dataAt = 1024;

/** Builds a 64-bit program with consecutive segments; the last one ends with a table of symbols. */
function macho(segments: readonly Segment[]): Uint8Array<ArrayBuffer> {
  const size = segments.reduce((sum, { data }) => sum + data.length, dataAt);
  const bytes = new Uint8Array(size), view = new DataView(bytes.buffer);
  const put = (at: number, text: string) => bytes.set(new TextEncoder().encode(text), at);
  view.setUint32(0, 0xfeedfacf, true);
  view.setUint32(16, segments.length + 1, true);
  view.setUint32(20, 72 * segments.length + 24, true);
  let at = commandsAt, offset = dataAt;
  for (const { name, address, data } of segments) {
    view.setUint32(at, 0x19, true);
    view.setUint32(at + 4, 72, true);
    put(at + 8, name);
    view.setBigUint64(at + 24, BigInt(address), true);
    view.setBigUint64(at + 32, BigInt(data.length), true);
    view.setBigUint64(at + 40, BigInt(offset), true);
    view.setBigUint64(at + 48, BigInt(data.length), true);
    put(offset, data);
    at += 72;
    offset += data.length;
  }
  view.setUint32(at, 0x2, true);
  view.setUint32(at + 4, 24, true);
  view.setUint32(at + 8, size - 8, true);
  view.setUint32(at + 16, size - 4, true);
  return bytes;
}

const text = { name: "__TEXT", address: 0x1000, data: "the code" };
const embedded = { name: "__SUI", address: 0x2000, data: "the embedded program" };
const links = (address: number) => ({ name: "__LINKEDIT", address, data: "symbols and strings" });

Deno.test("withoutSegment() restores the program without the inserted segment", () => {
  const program = macho([text, embedded, links(0x3000)]);
  assert.deepEqual(withoutSegment(program, "__SUI"), macho([text, links(0x2000)]));
});

Deno.test("withoutSegment() refuses a program without the segment, and other files", () => {
  const program = macho([text, links(0x2000)]);
  assert.throws(() => withoutSegment(program, "__SUI"), /^Error: Cannot remove the segment __SUI/);
  assert.throws(() => withoutSegment(new Uint8Array(64), "__SUI"), /^Error: Cannot read the program/);
});
