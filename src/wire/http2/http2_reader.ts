import type { Bytes } from "../../core/mod.ts";
import { Http2Fault } from "./http2_fault.ts";
import {
  clientPreface,
  frameFlags,
  type FrameHead,
  frameHeaderSize,
  http2Codes,
  http2FrameTypes,
  readFrameHead,
} from "./http2_frames.ts";

/** The receiver of a connection's frames. */
export interface FrameTaker {
  /** Called with a frame's header, before its payload. */
  head(head: FrameHead): void;
  /** Called with a whole frame. */
  frame(head: FrameHead, payload: Bytes): void;
  /** Called with each piece of an unpadded DATA payload; the last one may be empty. */
  piece(head: FrameHead, bytes: Bytes, isLast: boolean): void;
}

/**
 * Splits received bytes into frames. Passes on DATA payloads at once as views of the input, without copies,
 * so they may be large. Collects all other payloads first, so their size is limited.
 */
export class Http2Reader {
  readonly #taker: FrameTaker;
  readonly #mostBytes: number;
  /** The missing bytes of the preface. */
  #preface: number;
  readonly #head = new Uint8Array(frameHeaderSize);
  #headLength = 0;
  #current: FrameHead | undefined;
  #payload: Bytes = none;
  #taken = 0;

  constructor(taker: FrameTaker, options: { mostBytes: number; expectsPreface: boolean }) {
    this.#taker = taker;
    this.#mostBytes = options.mostBytes;
    this.#preface = options.expectsPreface ? clientPreface.length : 0;
  }

  read(bytes: Bytes): void {
    let at = this.#preface > 0 ? this.#readPreface(bytes) : 0;
    while (at < bytes.length) {
      if (this.#current === undefined) at = this.#readHead(bytes, at);
      if (this.#current !== undefined) at = this.#readPayload(this.#current, bytes, at);
    }
  }

  #readPreface(bytes: Bytes): number {
    const count = Math.min(this.#preface, bytes.length);
    const from = clientPreface.length - this.#preface;
    for (let at = 0; at < count; at++) {
      if (bytes[at] !== clientPreface[from + at]) {
        throw new Http2Fault(http2Codes.protocolError, "the client did not send the HTTP/2 preface");
      }
    }
    this.#preface -= count;
    return count;
  }

  #readHead(bytes: Bytes, from: number): number {
    const count = Math.min(frameHeaderSize - this.#headLength, bytes.length - from);
    this.#head.set(bytes.subarray(from, from + count), this.#headLength);
    this.#headLength += count;
    if (this.#headLength < frameHeaderSize) return from + count;
    this.#headLength = 0;
    const head = readFrameHead(this.#head);
    if (head.length > this.#mostBytes) {
      throw new Http2Fault(http2Codes.frameSizeError, `a frame is ${head.length} bytes long`);
    }
    this.#taker.head(head);
    this.#current = head;
    this.#taken = 0;
    this.#payload = none;
    return from + count;
  }

  #readPayload(head: FrameHead, bytes: Bytes, from: number): number {
    const end = Math.min(bytes.length, from + head.length - this.#taken);
    const piece = bytes.subarray(from, end);
    const isLast = this.#taken + piece.length === head.length;
    if (isStreamed(head)) {
      // Pass on an empty piece only as the last one.
      if (piece.length > 0 || isLast) this.#taker.piece(head, piece, isLast);
    } else if (isLast && this.#taken === 0) this.#taker.frame(head, piece);
    else {
      if (this.#payload === none) this.#payload = new Uint8Array(head.length);
      this.#payload.set(piece, this.#taken);
      if (isLast) this.#taker.frame(head, this.#payload);
    }
    this.#taken += piece.length;
    if (isLast) this.#current = undefined;
    return end;
  }
}

function isStreamed(head: FrameHead): boolean {
  return head.type === http2FrameTypes.data && (head.flags & frameFlags.padded) === 0;
}

const none: Bytes = new Uint8Array(0);
