import { joinBytes } from "../../core/mod.ts";
import { malformed } from "../decoder.ts";
import { flagFin, frameHeadLength, spdyFrameTypes } from "./spdy_frames.ts";
import { SpdyHeaderReader } from "./spdy_headers.ts";

/** A frame of the peer; bytes are views of the input of `receive`, valid until its next call. */
export type SpdyFrame =
  | SpdyHeadersFrame
  /** A part of a data frame, passed on as it arrives. `isLast` marks the end of the stream. */
  | {
    readonly kind: "data";
    readonly stream: number;
    readonly isLast: boolean;
    readonly bytes: Uint8Array<ArrayBuffer>;
  }
  | { readonly kind: "reset"; readonly stream: number; readonly code: number }
  | { readonly kind: "ping"; readonly id: number }
  | { readonly kind: "goAway"; readonly lastStream: number; readonly status: number }
  | { readonly kind: "window"; readonly stream: number; readonly amount: number }
  | { readonly kind: "settings"; readonly values: ReadonlyMap<number, number> };

export interface SpdyHeadersFrame {
  readonly kind: "open" | "reply" | "headers";
  readonly stream: number;
  readonly isLast: boolean;
  readonly headers: ReadonlyMap<string, string>;
}

/**
 * Reads the frames of a SPDY/3.1 session. Passes data on as they arrive, so that the peer cannot control
 * memory use; buffers only control frames, of at most 64 KiB.
 */
export class SpdyReader {
  readonly #headers = new SpdyHeaderReader();
  /** The start of an incomplete header or control frame. */
  #early = none;
  #data: { readonly stream: number; readonly flags: number; left: number } | undefined;

  receive(bytes: Uint8Array<ArrayBuffer>): SpdyFrame[] {
    const frames: SpdyFrame[] = [];
    let rest = bytes;
    if (this.#early.length > 0) {
      rest = joinBytes([this.#early, bytes]);
      this.#early = none;
    }
    while (rest.length > 0) {
      const used = this.#data ? this.#takeData(rest, frames) : this.#takeHead(rest, frames);
      if (used === 0) break;
      rest = rest.subarray(used);
    }
    if (rest.length > 0) this.#early = rest.slice();
    return frames;
  }

  #takeData(bytes: Uint8Array<ArrayBuffer>, frames: SpdyFrame[]): number {
    const data = this.#data;
    if (!data) return 0;
    const count = Math.min(data.left, bytes.length);
    data.left -= count;
    if (data.left === 0) this.#data = undefined;
    const isLast = data.left === 0 && (data.flags & flagFin) !== 0;
    frames.push({ kind: "data", stream: data.stream, isLast, bytes: bytes.subarray(0, count) });
    return count;
  }

  #takeHead(bytes: Uint8Array<ArrayBuffer>, frames: SpdyFrame[]): number {
    if (bytes.length < frameHeadLength) return 0;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const first = view.getUint32(0);
    const flags = bytes[4] ?? 0;
    const length = view.getUint32(4) & 0xff_ffff;
    if ((first & 0x8000_0000) === 0) {
      if (first === 0) throw malformed("a SPDY data frame has no stream");
      if (length > 0) this.#data = { stream: first, flags, left: length };
      else frames.push({ kind: "data", stream: first, isLast: (flags & flagFin) !== 0, bytes: none });
      return frameHeadLength;
    }
    const version = first >>> 16 & 0x7fff;
    if (version !== 3) throw malformed(`a SPDY frame has version ${version}`);
    if (length > mostControl) throw malformed(`a SPDY control frame is ${length} bytes long`);
    const end = frameHeadLength + length;
    if (bytes.length < end) return 0;
    const frame = this.#control(first & 0xffff, flags, bytes.subarray(frameHeadLength, end));
    if (frame) frames.push(frame);
    return end;
  }

  /** Decodes a control frame; ignores unknown types (section 2.2.1). */
  #control(type: number, flags: number, body: Uint8Array<ArrayBuffer>): SpdyFrame | undefined {
    switch (type) {
      case spdyFrameTypes.synStream:
        return this.#withHeaders("open", { flags, body, at: 10 });
      case spdyFrameTypes.synReply:
        return this.#withHeaders("reply", { flags, body, at: 4 });
      case spdyFrameTypes.headers:
        return this.#withHeaders("headers", { flags, body, at: 4 });
      case spdyFrameTypes.rstStream:
        return { kind: "reset", stream: streamAt(body), code: numberAt(body, 4) };
      case spdyFrameTypes.settings:
        return { kind: "settings", values: settingsOf(body) };
      case spdyFrameTypes.ping:
        return { kind: "ping", id: numberAt(body, 0) };
      case spdyFrameTypes.goAway:
        return {
          kind: "goAway",
          lastStream: numberAt(body, 0) & 0x7fff_ffff,
          // Version 2 had no status, and some peers still send none.
          status: body.length < 8 ? 0 : numberAt(body, 4),
        };
      case spdyFrameTypes.windowUpdate:
        return {
          kind: "window",
          stream: numberAt(body, 0) & 0x7fff_ffff,
          amount: numberAt(body, 4) & 0x7fff_ffff,
        };
      default:
        return undefined;
    }
  }

  #withHeaders(
    kind: SpdyHeadersFrame["kind"],
    { flags, body, at }: { flags: number; body: Uint8Array<ArrayBuffer>; at: number },
  ): SpdyFrame {
    const stream = streamAt(body);
    if (body.length < at) throw malformed("a SPDY control frame is truncated");
    // Decode unused headers too: all blocks form one zlib stream.
    const headers = this.#headers.read(body.subarray(at));
    return { kind, stream, isLast: (flags & flagFin) !== 0, headers };
  }
}

function streamAt(body: Uint8Array<ArrayBuffer>): number {
  const stream = numberAt(body, 0) & 0x7fff_ffff;
  if (stream === 0) throw malformed("a SPDY control frame has no stream");
  return stream;
}

function numberAt(body: Uint8Array<ArrayBuffer>, at: number): number {
  if (body.length < at + 4) throw malformed("a SPDY control frame is truncated");
  return new DataView(body.buffer, body.byteOffset).getUint32(at);
}

/** Section 2.6.4: a count, then for each setting one byte of flags, three of its id, four of its value. */
function settingsOf(body: Uint8Array<ArrayBuffer>): Map<number, number> {
  const count = numberAt(body, 0);
  if (body.length !== 4 + count * 8) throw malformed("SPDY settings have a wrong length");
  const values = new Map<number, number>();
  for (let at = 4; at < body.length; at += 8) {
    values.set(numberAt(body, at) & 0xff_ffff, numberAt(body, at + 4));
  }
  return values;
}

const none = new Uint8Array(0);
const mostControl = 64 * 1024;
