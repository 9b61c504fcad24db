import { malformed } from "../../wire/mod.ts";

// The connection protocol as a master hands it through once it was asked to (PROTOCOL.mux, "proxy"): without
// encryption and padding. Numbers have four bytes; the length is that of all that follows.
//
// +--------+---------+------+---------------+
// | LENGTH | PADDING | TYPE | PAYLOAD       |   RFC 4253, section 6
// +--------+---------+------+---------------+

/** The messages of RFC 4254, section 9. */
export const sshMessages = {
  requestSuccess: 81,
  requestFailure: 82,
  open: 90,
  openConfirmation: 91,
  openFailure: 92,
  windowAdjust: 93,
  data: 94,
  extendedData: 95,
  end: 96,
  close: 97,
  request: 98,
  success: 99,
  failure: 100,
} as const;

/** What a length, the padding and the type take. */
const head = 6;
/** OpenSSH takes no longer ones. */
const longest = 256 * 1024;

/** Told of each message: its payload is a part of what was read. */
export type OnSshPacket = (type: number, payload: Uint8Array<ArrayBuffer>) => void;

/** Reads every whole message; gives how many bytes they took. */
export function readSshPackets(bytes: Uint8Array<ArrayBuffer>, onPacket: OnSshPacket): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  while (bytes.length - at >= head) {
    const length = view.getUint32(at);
    if (length < 2 || length > longest) throw malformed(`an ssh message has ${length} bytes`);
    const end = at + 4 + length;
    if (end > bytes.length) break;
    const padding = bytes[at + 4] ?? 0;
    if (padding > length - 2) throw malformed("an ssh message is nothing but padding");
    onPacket(bytes[at + 5] ?? 0, bytes.subarray(at + head, end - padding));
    at = end;
  }
  return at;
}

/** How many bytes the next message takes, once its length is there. */
export function sshPacketSize(bytes: Uint8Array<ArrayBuffer>): number | undefined {
  if (bytes.length < 4) return undefined;
  return 4 + new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
}

/** The front of a message that begins with numbers and has `more` bytes after them. */
export function sshPacketHead(type: number, numbers: readonly number[], more = 0): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(head + numbers.length * 4);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, bytes.length - 4 + more);
  bytes[5] = type;
  numbers.forEach((number, at) => view.setUint32(head + at * 4, number));
  return bytes;
}
