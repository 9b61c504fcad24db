import { malformed } from "../../wire/mod.ts";

// The connection protocol in the form that a master forwards after a "proxy" request (PROTOCOL.mux): without
// encryption and padding. Numbers have four bytes; the length counts everything after it.
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

/** The size of length, padding and type. */
const head = 6;
/** OpenSSH's limit. */
const longest = 256 * 1024;

/** Called for each message; the payload is a view of the buffer. */
export type OnSshPacket = (type: number, payload: Uint8Array<ArrayBuffer>) => void;

/** Reads every complete message; returns how many bytes they took. */
export function readSshPackets(bytes: Uint8Array<ArrayBuffer>, onPacket: OnSshPacket): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  while (bytes.length - at >= head) {
    const length = view.getUint32(at);
    if (length < 2 || length > longest) throw malformed(`an ssh message has ${length} bytes`);
    const end = at + 4 + length;
    if (end > bytes.length) break;
    const padding = bytes[at + 4] ?? 0;
    if (padding > length - 2) throw malformed("an ssh message has no type");
    onPacket(bytes[at + 5] ?? 0, bytes.subarray(at + head, end - padding));
    at = end;
  }
  return at;
}

/** The size of the next message, once its length is available. */
export function sshPacketSize(bytes: Uint8Array<ArrayBuffer>): number | undefined {
  if (bytes.length < 4) return undefined;
  return 4 + new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
}

/** The start of a message whose numbers `more` bytes follow. */
export function sshPacketHead(type: number, numbers: readonly number[], more = 0): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(head + numbers.length * 4);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, bytes.length - 4 + more);
  bytes[5] = type;
  numbers.forEach((number, at) => view.setUint32(head + at * 4, number));
  return bytes;
}
