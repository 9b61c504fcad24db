// Frames of SPDY/3.1 (spdy-protocol-draft3-1, section 2.2):
//
// +-+---------------+---------------+      +-+-------------------------------+
// |1|  version 3    |     type      |      |0|           stream              |
// +-+-----+---------+---------------+      +-+-----+-------------------------+
// | flags |        length           |      | flags |         length          |
// +-------+-------------------------+      +-------+-------------------------+

export const spdyFrameTypes = {
  synStream: 1,
  synReply: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
  windowUpdate: 9,
} as const;

/** The sender sends nothing more on the stream. */
export const flagFin = 1;

/** The reset codes (section 2.6.3). */
export const resetCodes = {
  protocolError: 1,
  invalidStream: 2,
  refusedStream: 3,
  unsupportedVersion: 4,
  cancel: 5,
  internalError: 6,
  flowControlError: 7,
  streamInUse: 8,
  streamAlreadyClosed: 9,
  frameTooLarge: 11,
} as const;

export const frameHeadLength = 8;
/** The maximum data of one frame: the length has 24 bits. */
export const mostFrameData = 0xff_ffff;

/** Encodes the header of a frame with `length` bytes of data. */
export function dataHead(stream: number, length: number, flags = 0): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(frameHeadLength);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, stream);
  view.setUint32(4, flags << 24 | length);
  return bytes;
}

/** Encodes a frame that opens a stream, with its compressed headers. */
export function synStreamFrame(
  stream: number,
  headers: Uint8Array,
  { flags = 0 }: { flags?: number } = {},
): Uint8Array<ArrayBuffer> {
  const bytes = controlFrame(spdyFrameTypes.synStream, 10 + headers.length, flags);
  new DataView(bytes.buffer).setUint32(frameHeadLength, stream);
  bytes.set(headers, frameHeadLength + 10);
  return bytes;
}

/** Encodes a frame that accepts a stream (`synReply`) or adds headers (`headers`). */
export function replyFrame(
  type: typeof spdyFrameTypes.synReply | typeof spdyFrameTypes.headers,
  stream: number,
  headers: Uint8Array,
  flags = 0,
): Uint8Array<ArrayBuffer> {
  const bytes = controlFrame(type, 4 + headers.length, flags);
  new DataView(bytes.buffer).setUint32(frameHeadLength, stream);
  bytes.set(headers, frameHeadLength + 4);
  return bytes;
}

export function rstStreamFrame(stream: number, code: number): Uint8Array<ArrayBuffer> {
  return numbersFrame(spdyFrameTypes.rstStream, [stream, code]);
}

/** Encodes a ping or its response. */
export function pingFrame(id: number): Uint8Array<ArrayBuffer> {
  return numbersFrame(spdyFrameTypes.ping, [id]);
}

/** Encodes a frame that says that no stream after `lastStream` is served. */
export function goAwayFrame(lastStream: number, status = 0): Uint8Array<ArrayBuffer> {
  return numbersFrame(spdyFrameTypes.goAway, [lastStream, status]);
}

function numbersFrame(type: number, numbers: readonly number[]): Uint8Array<ArrayBuffer> {
  const bytes = controlFrame(type, numbers.length * 4);
  const view = new DataView(bytes.buffer);
  numbers.forEach((number, index) => view.setUint32(frameHeadLength + index * 4, number));
  return bytes;
}

function controlFrame(type: number, length: number, flags = 0): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(frameHeadLength + length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, 0x8003_0000 | type);
  view.setUint32(4, flags << 24 | length);
  return bytes;
}
