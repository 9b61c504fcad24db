import { joinBytes } from "../../core/mod.ts";
import { type Cursor, decoder, malformed } from "../decoder.ts";
import { applyMask, nextMaskKey } from "./websocket_mask.ts";

//  0                   1
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5
// +-+-+-+-+-------+-+-------------+
// |F|R|R|R| opcode|M| Payload len |  extended length: 2 bytes after 126, 8 after 127   RFC 6455, section 5.2
// |I|S|S|S|  (4)  |A|     (7)     |  then 4 bytes of masking key where M is set
// |N|V|V|V|       |S|             |
// +-+-+-+-+-------+-+-------------+

/** The frame types (RFC 6455, section 5.2). */
export const webSocketOpcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** An event of a WebSocket; bytes are views of the input of `receive`, valid until its next call. */
export type WebSocketEffect =
  /** A part of a message, in order. A message has any number of parts; the last one may be empty. */
  | {
    readonly kind: "data";
    readonly isText: boolean;
    readonly isStart: boolean;
    readonly isEnd: boolean;
    readonly bytes: Uint8Array<ArrayBuffer>;
  }
  /** A ping needs a pong with the same bytes. */
  | { readonly kind: "ping" | "pong"; readonly bytes: Uint8Array<ArrayBuffer> }
  /** The peer sends nothing more. 1005 means a close without a code. */
  | { readonly kind: "close"; readonly code: number; readonly reason: string };

export type WebSocketRole = "client" | "server";

/**
 * Reads WebSocket frames (RFC 6455, section 5). Passes parts of messages on as they arrive, so that the peer
 * cannot control memory use; buffers only control frames, of at most 125 bytes.
 */
export class WebSocketReader {
  readonly #isMasked: boolean;
  /** The start of an incomplete header or control frame. */
  #early = none;
  #frame: FrameHead | undefined;
  /** The missing bytes of the frame. */
  #left = 0;
  #keyAt = 0;
  /** The type of the incomplete message. */
  #message: "text" | "binary" | undefined;
  #isStart = false;
  #isClosed = false;

  /** `role` is our role: a client receives unmasked frames, a server masked ones (section 5.1). */
  constructor(role: WebSocketRole) {
    this.#isMasked = role === "server";
  }

  receive(bytes: Uint8Array<ArrayBuffer>): WebSocketEffect[] {
    const effects: WebSocketEffect[] = [];
    let rest = bytes;
    if (this.#early.length > 0) {
      rest = joinBytes([this.#early, bytes]);
      this.#early = none;
    }
    while (!this.#isClosed && (rest.length > 0 || this.#frame)) {
      if (!this.#frame) {
        const head = decodeHead(rest);
        if (!head) break;
        this.#begin(head.value);
        rest = rest.subarray(head.used);
      }
      const used = this.#take(rest, effects);
      if (used === undefined) break;
      rest = rest.subarray(used);
    }
    if (!this.#isClosed && rest.length > 0) this.#early = rest.slice();
    return effects;
  }

  #begin(head: FrameHead): void {
    const { opcode, isFinal, isMasked, length } = head;
    if (isMasked !== this.#isMasked) {
      throw malformed(`a WebSocket frame is ${isMasked ? "masked" : "not masked"}`);
    }
    if (opcode >= webSocketOpcodes.close) {
      if (!isFinal) throw malformed("a WebSocket control frame is fragmented");
      if (length > mostControl) throw malformed(`a WebSocket control frame is ${length} bytes long`);
    } else if (opcode === webSocketOpcodes.continuation) {
      if (!this.#message) throw malformed("a WebSocket fragment without a message");
    } else {
      if (this.#message) throw malformed("a WebSocket message begins inside another one");
      this.#message = opcode === webSocketOpcodes.text ? "text" : "binary";
      this.#isStart = true;
    }
    this.#frame = head;
    this.#left = length;
    this.#keyAt = 0;
  }

  /**
   * Takes the available bytes of the frame and returns their count; undefined when more must arrive first.
   */
  #take(bytes: Uint8Array<ArrayBuffer>, effects: WebSocketEffect[]): number | undefined {
    const frame = this.#frame;
    if (!frame) return undefined;
    if (frame.opcode >= webSocketOpcodes.close) {
      if (bytes.length < frame.length) return undefined;
      effects.push(this.#control(frame, this.#unmasked(bytes.subarray(0, frame.length))));
      this.#frame = undefined;
      return frame.length;
    }
    if (bytes.length === 0 && this.#left > 0) return undefined;
    const count = Math.min(this.#left, bytes.length);
    const part = this.#unmasked(bytes.subarray(0, count));
    this.#left -= count;
    const isEnd = this.#left === 0 && frame.isFinal;
    if (count > 0 || isEnd || this.#isStart) {
      effects.push({
        kind: "data",
        isText: this.#message === "text",
        isStart: this.#isStart,
        isEnd,
        bytes: part,
      });
    }
    this.#isStart = false;
    if (this.#left === 0) this.#frame = undefined;
    if (isEnd) this.#message = undefined;
    return count;
  }

  #unmasked(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    const key = this.#frame?.key;
    if (!key) return bytes;
    const plain = bytes.slice();
    applyMask(plain, key, this.#keyAt);
    this.#keyAt += bytes.length;
    return plain;
  }

  #control({ opcode }: FrameHead, bytes: Uint8Array<ArrayBuffer>): WebSocketEffect {
    if (opcode === webSocketOpcodes.ping) return { kind: "ping", bytes };
    if (opcode === webSocketOpcodes.pong) return { kind: "pong", bytes };
    this.#isClosed = true;
    return { kind: "close", ...readClose(bytes) };
  }
}

/** Encodes a client's frame; `fill` writes the payload, which is then masked. */
export function webSocketClientFrame(
  opcode: number,
  length: number,
  fill: (payload: Uint8Array<ArrayBuffer>) => void,
): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(webSocketFrameRoom + length);
  fill(bytes.subarray(webSocketFrameRoom));
  return sealWebSocketFrame(bytes, opcode);
}

/**
 * The room that `sealWebSocketFrame` needs before the payload; a multiple of four, so that masking works on
 * words.
 */
export const webSocketFrameRoom = 16;

/**
 * Turns a payload at `webSocketFrameRoom` into a client's frame: masks it in place and writes the header
 * before it.
 */
export function sealWebSocketFrame(bytes: Uint8Array<ArrayBuffer>, opcode: number): Uint8Array<ArrayBuffer> {
  const payload = bytes.subarray(webSocketFrameRoom);
  const key = nextMaskKey();
  applyMask(payload, key, 0);
  const at = webSocketFrameRoom - headLength(payload.length) - 4;
  writeHead(bytes.subarray(at), opcode, payload.length, 0x80);
  bytes.set(key, webSocketFrameRoom - 4);
  return bytes.subarray(at);
}

export function webSocketServerFrame(opcode: number, payload: Uint8Array): Uint8Array<ArrayBuffer> {
  const length = headLength(payload.length);
  const bytes = new Uint8Array(length + payload.length);
  writeHead(bytes, opcode, payload.length, 0);
  bytes.set(payload, length);
  return bytes;
}

/** Encodes the payload of a close frame (RFC 6455, section 5.5.1). */
export function webSocketClosePayload(code: number, reason = ""): Uint8Array<ArrayBuffer> {
  const text = new TextEncoder().encode(reason).subarray(0, mostControl - 2);
  const bytes = new Uint8Array(2 + text.length);
  bytes[0] = code >> 8;
  bytes[1] = code;
  bytes.set(text, 2);
  return bytes;
}

interface FrameHead {
  readonly isFinal: boolean;
  readonly opcode: number;
  readonly isMasked: boolean;
  readonly length: number;
  readonly key: Uint8Array<ArrayBuffer> | undefined;
}

const decodeHead = decoder<FrameHead>((cursor) => {
  const first = cursor.u8();
  const opcode = first & 0x0f;
  if ((first & 0x70) !== 0) throw malformed("a WebSocket frame has reserved bits set");
  if (opcode > 10 || (opcode > 2 && opcode < 8)) {
    throw malformed(`a WebSocket frame has the unknown type ${opcode}`);
  }
  const second = cursor.u8();
  const length = readLength(cursor, second & 0x7f);
  const isMasked = (second & 0x80) !== 0;
  // Copy the key: the input may be reused before the frame ends.
  return {
    isFinal: (first & 0x80) !== 0,
    opcode,
    isMasked,
    length,
    key: isMasked ? cursor.take(4).slice() : undefined,
  };
});

/** Reads a length, which must use as few bytes as possible (RFC 6455, section 5.2). */
function readLength(cursor: Cursor, short: number): number {
  if (short < 126) return short;
  if (short === 126) {
    const length = cursor.u16();
    if (length < 126) throw malformed("a WebSocket frame's length uses more bytes than necessary");
    return length;
  }
  const high = cursor.u16() * 0x10000 + cursor.u16();
  const length = high * 0x1_0000_0000 + cursor.u16() * 0x10000 + cursor.u16();
  if (length < 0x10000) throw malformed("a WebSocket frame's length uses more bytes than necessary");
  if (!Number.isSafeInteger(length)) throw malformed("a WebSocket frame is too long");
  return length;
}

/** RFC 6455, sections 5.5.1 and 7.4. */
function readClose(bytes: Uint8Array<ArrayBuffer>): { code: number; reason: string } {
  const [high, low] = bytes;
  if (high === undefined) return { code: 1005, reason: "" };
  if (low === undefined) throw malformed("a WebSocket close frame has half a code");
  const code = high << 8 | low;
  if (!mayClose(code)) throw malformed(`a WebSocket close frame has the invalid code ${code}`);
  return { code, reason: new TextDecoder().decode(bytes.subarray(2)) };
}

function mayClose(code: number): boolean {
  if (code >= 3000) return code < 5000;
  return code >= 1000 && code <= 1014 && code !== 1004 && code !== 1005 && code !== 1006;
}

function headLength(length: number): number {
  return length < 126 ? 2 : length < 0x10000 ? 4 : 10;
}

function writeHead(bytes: Uint8Array<ArrayBuffer>, opcode: number, length: number, mask: number): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  bytes[0] = 0x80 | opcode;
  if (length < 126) {
    bytes[1] = mask | length;
  } else if (length < 0x10000) {
    bytes[1] = mask | 126;
    view.setUint16(2, length);
  } else {
    bytes[1] = mask | 127;
    view.setUint32(2, Math.floor(length / 0x1_0000_0000));
    view.setUint32(6, length % 0x1_0000_0000);
  }
}

const none = new Uint8Array(0);
/** RFC 6455, section 5.5. */
const mostControl = 125;
