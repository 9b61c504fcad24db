import type { Bytes } from "../../core/mod.ts";
import { Http2Fault } from "./http2_fault.ts";
import {
  http2Codes,
  largestHttp2Window,
  largestMaxFrame,
  readU32,
  settingIds,
  smallestMaxFrame,
} from "./http2_frames.ts";

/** The peer's settings for our output. */
export interface PeerSettings {
  readonly maxStreams: number;
  readonly initialWindow: number;
  /** The maximum payload of our frames. */
  readonly maxFrame: number;
}

export function settingsPayload(
  own: { role: string; streamWindow: number; maxStreams: number; maxFields: number },
): Bytes {
  const pairs: (readonly [number, number])[] = [
    own.role === "client" ? [settingIds.enablePush, 0] : [settingIds.maxConcurrentStreams, own.maxStreams],
    [settingIds.initialWindowSize, own.streamWindow],
    [settingIds.maxHeaderListSize, own.maxFields],
  ];
  const payload = new Uint8Array(pairs.length * 6);
  const view = new DataView(payload.buffer);
  pairs.forEach(([id, value], at) => {
    view.setUint16(at * 6, id);
    view.setUint32(at * 6 + 2, value);
  });
  return payload;
}

/**
 * Applies a peer's settings to the previous ones (RFC 9113, section 6.5.2). Reports each table size
 * separately, because a smaller one empties the table.
 */
export function readSettings(
  payload: Bytes,
  before: PeerSettings,
): { settings: PeerSettings; tableSizes: readonly number[] } {
  if (payload.length % 6 !== 0) {
    throw new Http2Fault(http2Codes.frameSizeError, "settings have a wrong size");
  }
  let settings = before;
  const tableSizes: number[] = [];
  for (let at = 0; at < payload.length; at += 6) {
    const id = (payload[at] as number) << 8 | payload[at + 1] as number;
    const value = readU32(payload, at + 2);
    if (id === settingIds.headerTableSize) tableSizes.push(value);
    else if (id === settingIds.maxConcurrentStreams) settings = { ...settings, maxStreams: value };
    else if (id === settingIds.enablePush && value > 1) {
      throw new Http2Fault(http2Codes.protocolError, `ENABLE_PUSH is ${value}`);
    } else if (id === settingIds.initialWindowSize) {
      if (value > largestHttp2Window) {
        throw new Http2Fault(http2Codes.flowControlError, `INITIAL_WINDOW_SIZE is ${value}`);
      }
      settings = { ...settings, initialWindow: value };
    } else if (id === settingIds.maxFrameSize) {
      if (value < smallestMaxFrame || value > largestMaxFrame) {
        throw new Http2Fault(http2Codes.protocolError, `MAX_FRAME_SIZE is ${value}`);
      }
      // Larger frames would let one stream block the others.
      settings = { ...settings, maxFrame: Math.min(value, mostPerFrame) };
    }
  }
  return { settings, tableSizes };
}

const mostPerFrame = 64 * 1024;
