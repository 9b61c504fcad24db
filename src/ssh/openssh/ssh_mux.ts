import type { Decode } from "../../core/mod.ts";
import { decoder, malformed } from "../../wire/mod.ts";

// Messages on the control socket of an OpenSSH master (PROTOCOL.mux of OpenSSH):
//
// +--------+------+---------------+
// | LENGTH | TYPE | BODY          |   numbers of four bytes; the length counts everything after it
// +--------+------+---------------+

/** The message types that we use. */
export const sshMuxTypes = {
  hello: 0x1,
  terminate: 0x1000_0005,
  proxy: 0x1000_000f,
  ok: 0x8000_0001,
  denied: 0x8000_0002,
  failure: 0x8000_0003,
  proxying: 0x8000_000f,
} as const;

/** The only version of the protocol. */
export const sshMuxVersion = 4;

/** A message of a master; `reason` is set in refusals. */
export interface SshMuxAnswer {
  readonly type: number;
  readonly reason?: string;
}

export const decodeSshMuxAnswer: Decode<SshMuxAnswer> = decoder((cursor) => {
  const length = cursor.u32();
  if (length < 4 || length > longest) throw malformed(`a message of the ssh master has ${length} bytes`);
  const type = cursor.u32();
  const body = cursor.take(length - 4);
  if (type !== sshMuxTypes.denied && type !== sshMuxTypes.failure) return { type };
  // The reason follows the number of the request.
  const size = body.length >= 8 ? new DataView(body.buffer, body.byteOffset).getUint32(4) : 0;
  return { type, reason: new TextDecoder().decode(body.subarray(8, 8 + size)) };
});

/** The first message of a client. */
export function encodeSshMuxHello(): Uint8Array<ArrayBuffer> {
  return message([sshMuxTypes.hello, sshMuxVersion]);
}

/** A request to end the master (`terminate`), or to use this socket for channels (`proxy`). */
export function encodeSshMuxRequest(what: "terminate" | "proxy"): Uint8Array<ArrayBuffer> {
  return message([sshMuxTypes[what], 0]);
}

function message(numbers: readonly number[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(4 + numbers.length * 4);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, numbers.length * 4);
  numbers.forEach((number, at) => view.setUint32(4 + at * 4, number));
  return bytes;
}

const longest = 256 * 1024;
