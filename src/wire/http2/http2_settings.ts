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

/** What a peer asks of what we send. */
export interface PeerSettings {
  readonly maxStreams: number;
  readonly initialWindow: number;
  /** The most bytes we put into one frame. */
  readonly maxFrame: number;
}

/** What we ask of a peer. */
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
 * Reads the settings of a peer over those that held before (RFC 9113, section 6.5.2). The sizes of its table are told one
 * by one: a smaller one empties it.
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
      throw new Http2Fault(http2Codes.protocolError, `pushing is set to ${value}`);
    } else if (id === settingIds.initialWindowSize) {
      if (value > largestHttp2Window) {
        throw new Http2Fault(http2Codes.flowControlError, `windows are set to ${value}`);
      }
      settings = { ...settings, initialWindow: value };
    } else if (id === settingIds.maxFrameSize) {
      if (value < smallestMaxFrame || value > largestMaxFrame) {
        throw new Http2Fault(http2Codes.protocolError, `frames are set to ${value} bytes`);
      }
      // Larger ones would let one stream keep the others waiting.
      settings = { ...settings, maxFrame: Math.min(value, mostPerFrame) };
    }
  }
  return { settings, tableSizes };
}

const mostPerFrame = 64 * 1024;
