import type { Bytes } from "../../core/mod.ts";

// +-----------------+--------+---------+-----------------+-------------+
// | LENGTH (24)     | TYPE   | FLAGS   | R STREAM (31)   | PAYLOAD     |   RFC 9113, section 4.1
// +-----------------+--------+---------+-----------------+-------------+

/** The size of each frame's header. */
export const frameHeaderSize = 9;

export const http2FrameTypes = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const frameFlags = { endStream: 0x1, ack: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 } as const;

export const settingIds = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const;

/** The error codes of streams and connections (section 7). */
export const http2Codes = {
  noError: 0,
  protocolError: 1,
  internalError: 2,
  flowControlError: 3,
  settingsTimeout: 4,
  streamClosed: 5,
  frameSizeError: 6,
  refusedStream: 7,
  cancel: 8,
  compressionError: 9,
  connectError: 10,
  enhanceYourCalm: 11,
  inadequateSecurity: 12,
  http11Required: 13,
} as const;

const codeNames = new Map<number, string>(Object.entries(http2Codes).map(([name, code]) => [code, name]));

/** Formats a code: `flowControlError` is "flow control error". */
export function http2CodeText(code: number): string {
  return codeNames.get(code)?.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`) ?? `code ${code}`;
}

/** The client's preface before its first frame (section 3.4). */
export const clientPreface: Bytes = new TextEncoder().encode("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

export const defaultWindow = 65_535;
export const largestHttp2Window = 0x7fff_ffff;
export const smallestMaxFrame = 16_384;
export const largestMaxFrame = 0xff_ffff;

export interface FrameHead {
  readonly length: number;
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
}

/** Reads the nine header bytes. */
export function readFrameHead(bytes: Uint8Array): FrameHead {
  const byte = (at: number) => bytes[at] as number;
  return {
    length: byte(0) << 16 | byte(1) << 8 | byte(2),
    type: byte(3),
    flags: byte(4),
    stream: readU31(bytes, 5),
  };
}

export function readU31(bytes: Uint8Array, at: number): number {
  return readU32(bytes, at) & 0x7fff_ffff;
}

export function readU32(bytes: Uint8Array, at: number): number {
  const byte = (offset: number) => bytes[at + offset] as number;
  return (byte(0) << 24 | byte(1) << 16 | byte(2) << 8 | byte(3)) >>> 0;
}

/** Removes the padding of a payload; undefined when the padding exceeds the payload. */
export function withoutPadding(payload: Bytes, flags: number): Bytes | undefined {
  if ((flags & frameFlags.padded) === 0) return payload;
  const padding = payload[0];
  if (padding === undefined || padding > payload.length - 1) return undefined;
  return payload.subarray(1, payload.length - padding);
}
