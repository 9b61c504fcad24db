import { type Bytes, joinBytes } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { Allowance } from "../allowance.ts";
import { HpackDecoder, HpackEncoder } from "./hpack.ts";
import type { HeaderField } from "./hpack_table.ts";
import { Http2Fault } from "./http2_fault.ts";
import { declaredLength, fieldsProblem } from "./http2_fields.ts";
import {
  clientPreface,
  defaultWindow,
  frameFlags,
  type FrameHead,
  http2Codes,
  http2FrameTypes,
  largestHttp2Window,
  readU31,
  readU32,
  smallestMaxFrame,
  withoutPadding,
} from "./http2_frames.ts";
import { Http2Output } from "./http2_output.ts";
import { type FrameTaker, Http2Reader } from "./http2_reader.ts";
import { type PeerSettings, readSettings, settingsPayload } from "./http2_settings.ts";
import { Http2Streams, type StreamState } from "./http2_streams.ts";
import { mostInterim } from "../http1/interim_count.ts";

export interface Http2Options {
  readonly role: "client" | "server";
  /** The receive windows of one stream and of the connection, in bytes. */
  readonly streamWindow: number;
  readonly connectionWindow: number;
  /** The maximum number of streams that a peer may open. */
  readonly maxStreams: number;
  /** The maximum size of a field list, counted as in tables. */
  readonly maxFields: number;
}

/** An action of the peer. */
export type Http2Event =
  /** `stream` is new, gets its response, or gets its trailers. */
  | {
    readonly type: "fields";
    readonly stream: number;
    readonly kind: "request" | "response" | "trailers";
    readonly fields: readonly HeaderField[];
  }
  /** `bytes` are a view of the received bytes. The receiver calls `consumed()` after using them. */
  | { readonly type: "data"; readonly stream: number; readonly bytes: Bytes }
  /** The peer sends no more on this stream. */
  | { readonly type: "end"; readonly stream: number }
  /** The stream was reset. */
  | {
    readonly type: "reset";
    readonly stream: number;
    readonly code: number;
    readonly by: "peer" | "us";
    readonly because?: string;
  }
  /** More data can be sent, on one stream or on any. */
  | { readonly type: "writable"; readonly stream: number | undefined }
  | { readonly type: "settings" }
  | { readonly type: "pong"; readonly number: number }
  /** The peer serves no stream above `lastStream`. */
  | { readonly type: "goAway"; readonly lastStream: number; readonly code: number; readonly text: string };

/**
 * The state of one HTTP/2 connection without I/O (RFC 9113): `receive()` returns the peer's actions, other
 * methods perform ours, and `takeOutput()` returns the bytes to send. It never waits and has no clock.
 */
export class Http2Session implements FrameTaker {
  readonly #options: Http2Options;
  readonly #output = new Http2Output();
  readonly #reader: Http2Reader;
  readonly #decoder = new HpackDecoder();
  readonly #encoder = new HpackEncoder();
  readonly #streams: Http2Streams;
  #events: Http2Event[] = [];
  #now = 0;
  #peer: PeerSettings = { maxStreams: Infinity, initialWindow: defaultWindow, maxFrame: smallestMaxFrame };
  #hasSettings = false;
  /** An incomplete field list. */
  #block: { head: FrameHead; parts: Bytes[]; size: number } | undefined;
  #sendWindow = defaultWindow;
  #receiveWindow = defaultWindow;
  #unacknowledged = 0;
  #fault: Http2Fault | undefined;
  #peerLeft: { readonly lastStream: number } | undefined;
  /** The last stream to serve, after our GOAWAY. */
  #lastServed: number | undefined;
  readonly #chatter = new Allowance(2000, 1000);
  /**
   * Whether data were sent since the last ping: gRPC programs ping once per round trip of data to measure
   * latency.
   */
  #hasSentData = false;
  readonly #resets = new Allowance(5000, 1000);
  /** For streams reset right after they open: these cost us more than the peer. */
  readonly #hastyResets = new Allowance(1000, 200);

  constructor(options: Http2Options) {
    this.#options = options;
    this.#streams = new Http2Streams(options.role);
    const isServer = options.role === "server";
    this.#reader = new Http2Reader(this, { mostBytes: smallestMaxFrame, expectsPreface: isServer });
    if (!isServer) this.#output.raw(clientPreface);
    this.#output.frame(http2FrameTypes.settings, 0, 0, settingsPayload(options));
    this.#growConnectionWindow(options.connectionWindow - defaultWindow);
  }

  /**
   * Processes received bytes and returns the peer's actions. A fault ends the connection and queues a GOAWAY.
   */
  receive(bytes: Bytes, now: number): Http2Event[] {
    if (this.#fault) throw this.#fault;
    this.#now = now;
    try {
      this.#reader.read(bytes);
    } catch (error) {
      if (!(error instanceof PosternError)) throw error;
      // Other errors come from the field list decoder.
      this.#fault = error instanceof Http2Fault
        ? error
        : new Http2Fault(http2Codes.compressionError, error.message);
      this.goAway(this.#fault.http2Code, this.#fault.message);
      throw this.#fault;
    }
    const events = this.#events;
    this.#events = [];
    return events;
  }

  /** The number of unsent bytes. */
  get pending(): number {
    return this.#output.length;
  }

  /** Returns all unsent bytes; `sent()` takes them back. */
  takeOutput(): Bytes {
    return this.#output.take();
  }

  /** Takes back bytes that were sent, for reuse. */
  sent(bytes: Bytes): void {
    this.#output.free(bytes);
  }

  /** The number of streams open in either direction. */
  get openStreams(): number {
    return this.#streams.size;
  }

  /** Whether a client may open another stream now. */
  get canOpen(): boolean {
    return this.isOpen && this.#streams.size < this.#peer.maxStreams && this.#streams.hasIds;
  }

  /** Whether new streams are possible, now or later. */
  get isOpen(): boolean {
    return !this.#fault && !this.#peerLeft && this.#lastServed === undefined;
  }

  /** Whether the peer has sent its settings. */
  get hasSettings(): boolean {
    return this.#hasSettings;
  }

  /** Opens a stream with a request and returns its number. */
  open(fields: readonly HeaderField[], isEnd: boolean): number {
    const state = this.#streams.open(this.#windows(), this.#now);
    this.#sendFields(state, fields, isEnd);
    return state.id;
  }

  /** Sends a response or trailers; ignores closed streams. */
  sendFields(stream: number, fields: readonly HeaderField[], isEnd: boolean): void {
    const state = this.#streams.find(stream);
    if (state && !state.hasEnded) this.#sendFields(state, fields, isEnd);
  }

  /** The number of bytes that a stream may send now. */
  room(stream: number): number {
    const state = this.#streams.find(stream);
    return state && !state.hasEnded ? Math.max(0, Math.min(state.sendWindow, this.#sendWindow)) : 0;
  }

  /**
   * Sends as many bytes as windows allow and returns the count; the end goes with the last byte. `before`
   * precedes the bytes, which saves the caller a copy.
   */
  sendData(stream: number, bytes: Uint8Array, isEnd: boolean, before: Uint8Array = none): number {
    const state = this.#streams.find(stream);
    if (!state || state.hasEnded) return 0;
    const all = before.length + bytes.length;
    const count = Math.min(all, this.room(stream));
    let at = 0;
    do {
      const size = Math.min(count - at, this.#peer.maxFrame);
      const isLast = isEnd && at + size === all;
      if (size === 0 && !isLast) break;
      const end = at + size;
      const front = at < before.length ? before.subarray(at, Math.min(end, before.length)) : none;
      const rest = bytes.subarray(Math.max(0, at - before.length), Math.max(0, end - before.length));
      this.#output.frame(http2FrameTypes.data, isLast ? frameFlags.endStream : 0, stream, rest, front);
      this.#hasSentData = true;
      at = end;
      if (isLast) this.#weEnded(state);
    } while (at < count);
    state.sendWindow -= count;
    this.#sendWindow -= count;
    return count;
  }

  /** Returns consumed bytes to the peer's windows. */
  consumed(stream: number, count: number): void {
    this.#acknowledge(count);
    const state = this.#streams.find(stream);
    if (!state || state.peerEnded) return;
    state.unacknowledged += count;
    if (state.unacknowledged < Math.min(this.#options.streamWindow / 2, mostUntold)) return;
    this.#output.numbers(http2FrameTypes.windowUpdate, 0, stream, [state.unacknowledged]);
    state.receiveWindow += state.unacknowledged;
    state.unacknowledged = 0;
  }

  reset(stream: number, code: number): void {
    const state = this.#streams.find(stream);
    if (!state) return;
    this.#output.numbers(http2FrameTypes.reset, 0, stream, [code]);
    this.#streams.close(state, "ours");
  }

  /** Sends a ping; the event `pong` returns the number. */
  ping(number: number): void {
    this.#output.numbers(http2FrameTypes.ping, 0, 0, [0, number]);
  }

  /** Sends GOAWAY: accepts no more streams and lets open ones finish. */
  goAway(code: number, text = ""): void {
    this.#lastServed ??= this.#streams.lastOfPeer;
    const words = new TextEncoder().encode(text.slice(0, 200));
    const payload = new Uint8Array(8 + words.length);
    const view = new DataView(payload.buffer);
    view.setUint32(0, this.#lastServed);
    view.setUint32(4, code);
    payload.set(words, 8);
    this.#output.frame(http2FrameTypes.goAway, 0, 0, payload);
  }

  // The methods of `FrameTaker`.

  head(head: FrameHead): void {
    if (!this.#hasSettings && (head.type !== http2FrameTypes.settings || head.flags & frameFlags.ack)) {
      fault(http2Codes.protocolError, "the first frame is not SETTINGS");
    }
    const block = this.#block;
    if (block && (head.type !== http2FrameTypes.continuation || head.stream !== block.head.stream)) {
      fault(http2Codes.protocolError, "another frame interrupts a field list");
    }
    if (head.type !== http2FrameTypes.data) return;
    if (head.stream === 0) fault(http2Codes.protocolError, "data on stream 0");
    if (head.length === 0 && !(head.flags & frameFlags.endStream)) this.#chat();
    this.#receiveWindow -= head.length;
    if (this.#receiveWindow < 0) {
      fault(http2Codes.flowControlError, "data exceed the connection's window");
    }
    const state = this.#streams.find(head.stream);
    if (!state) return this.#meetClosed(head);
    if (state.peerEnded) fault(http2Codes.streamClosed, `data on stream ${head.stream} after its end`);
    if (!state.hasFields) fault(http2Codes.protocolError, `data on stream ${head.stream} before its fields`);
    state.receiveWindow -= head.length;
    if (state.receiveWindow < 0) {
      this.#failStream(state, http2Codes.flowControlError, "data exceed its window");
    }
  }

  piece(head: FrameHead, bytes: Bytes, isLast: boolean): void {
    this.#takeData(head, bytes, isLast);
  }

  frame(head: FrameHead, payload: Bytes): void {
    switch (head.type) {
      case http2FrameTypes.data:
        return this.#receivePaddedData(head, payload);
      case http2FrameTypes.headers:
        return this.#receiveHeaders(head, payload);
      case http2FrameTypes.continuation:
        return this.#receiveContinuation(head, payload);
      case http2FrameTypes.priority:
        return this.#receivePriority(head, payload);
      case http2FrameTypes.reset:
        return this.#receiveReset(head, payload);
      case http2FrameTypes.settings:
        return this.#receiveSettings(head, payload);
      case http2FrameTypes.ping:
        return this.#receivePing(head, payload);
      case http2FrameTypes.goAway:
        return this.#receiveGoAway(head, payload);
      case http2FrameTypes.windowUpdate:
        return this.#receiveWindowUpdate(head, payload);
      case http2FrameTypes.pushPromise:
        return fault(http2Codes.protocolError, "the peer pushed a stream, which is not allowed");
      default:
        // Ignore frames of unknown types (section 5.5).
        return this.#chat();
    }
  }

  #receivePaddedData(head: FrameHead, payload: Bytes): void {
    const bytes = withoutPadding(payload, head.flags);
    if (!bytes) fault(http2Codes.protocolError, "data have more padding than payload");
    const padding = payload.length - bytes.length;
    if (this.#streams.find(head.stream)) this.consumed(head.stream, padding);
    else this.#acknowledge(padding);
    this.#takeData(head, bytes, true);
  }

  #takeData(head: FrameHead, bytes: Bytes, isLast: boolean): void {
    const state = this.#streams.find(head.stream);
    // The stream is closed, but the peer may not know yet.
    if (!state) return this.#acknowledge(bytes.length);
    state.received += bytes.length;
    const isEnd = isLast && (head.flags & frameFlags.endStream) !== 0;
    if (
      state.declared !== undefined &&
      (state.received > state.declared || isEnd && state.received < state.declared)
    ) {
      this.#acknowledge(bytes.length);
      return this.#failStream(state, http2Codes.protocolError, "its length differs from the declared one");
    }
    if (bytes.length > 0) this.#events.push({ type: "data", stream: head.stream, bytes });
    if (isEnd) this.#peerEnded(state);
  }

  #receiveHeaders(head: FrameHead, payload: Bytes): void {
    if (head.stream === 0) fault(http2Codes.protocolError, "fields on stream 0");
    let block = withoutPadding(payload, head.flags);
    if (!block) fault(http2Codes.protocolError, "fields have more padding than payload");
    if (head.flags & frameFlags.priority) {
      if (block.length < 5) fault(http2Codes.frameSizeError, "fields are shorter than their priority");
      this.#checkDependency(head.stream, block);
      block = block.subarray(5);
    }
    this.#streams.admit(head.stream);
    this.#addToBlock({ head, parts: [], size: 0 }, block, head.flags);
  }

  #receiveContinuation(head: FrameHead, payload: Bytes): void {
    if (!this.#block) fault(http2Codes.protocolError, "a CONTINUATION frame without a field list");
    this.#addToBlock(this.#block, payload, head.flags);
  }

  #addToBlock(block: { head: FrameHead; parts: Bytes[]; size: number }, part: Bytes, flags: number): void {
    // Copy the part: the input buffer may be reused.
    block.parts.push(part.slice());
    block.size += part.length;
    if (block.size > this.#options.maxFields * 2 || block.parts.length > mostParts) {
      fault(http2Codes.enhanceYourCalm, "a field list does not end");
    }
    this.#block = block;
    if (!(flags & frameFlags.endHeaders)) return;
    this.#block = undefined;
    const whole = block.parts.length === 1 ? block.parts[0] as Bytes : joinBytes(block.parts);
    const { fields, isTooLarge } = this.#decoder.decode(whole, this.#options.maxFields);
    this.#receiveFields(block.head, fields, isTooLarge);
  }

  #receiveFields(head: FrameHead, fields: readonly HeaderField[], isTooLarge: boolean): void {
    const { stream } = head;
    const isEnd = (head.flags & frameFlags.endStream) !== 0;
    let state = this.#streams.find(stream);
    if (!state) {
      if (this.#options.role === "client" || !this.#streams.isNew(stream)) return this.#meetClosed(head);
      // The peer began it before it got our GOAWAY: ignore the stream and its later frames (section 6.8).
      if (this.#lastServed !== undefined) return this.#streams.refuse(stream);
      if (this.#streams.size >= this.#options.maxStreams) {
        if (!this.#resets.take(this.#now)) fault(http2Codes.enhanceYourCalm, "too many new streams");
        this.#streams.refuse(stream);
        return this.#output.numbers(http2FrameTypes.reset, 0, stream, [http2Codes.refusedStream]);
      }
      state = this.#streams.accept(stream, this.#windows(), this.#now);
    } else if (state.peerEnded) fault(http2Codes.streamClosed, `fields on stream ${stream} after its end`);
    const kind = state.hasFields ? "trailers" : this.#options.role === "server" ? "request" : "response";
    if (isTooLarge) return this.#failStream(state, http2Codes.protocolError, "its field list is too large");
    if (kind === "trailers" && !isEnd) {
      return this.#failStream(state, http2Codes.protocolError, "it has a field list inside its body");
    }
    const problem = fieldsProblem(fields, kind);
    if (problem) return this.#failStream(state, http2Codes.protocolError, problem);
    // An interim response (100 to 199): another one follows.
    const isInterim = kind === "response" &&
      fields.some(([name, value]) => name === ":status" && value[0] === "1");
    if (isInterim && isEnd) {
      return this.#failStream(state, http2Codes.protocolError, "it ends before its response");
    }
    if (isInterim && ++state.interim > mostInterim) {
      return this.#failStream(state, http2Codes.enhanceYourCalm, "too many 1xx responses");
    }
    if (isInterim) return this.#chat();
    if (kind !== "trailers") {
      state.hasFields = true;
      const declared = declaredLength(fields);
      const isWrong = declared !== undefined &&
        (Number.isNaN(declared) || isEnd && declared !== 0 && kind === "request");
      if (isWrong) {
        return this.#failStream(state, http2Codes.protocolError, "its length differs from the declared one");
      }
      // A response to HEAD declares a length without a body, but postern sends no HEAD requests here.
      if (declared !== undefined && !isEnd) state.declared = declared;
    } else if (state.declared !== undefined && state.received !== state.declared) {
      return this.#failStream(state, http2Codes.protocolError, "its length differs from the declared one");
    }
    this.#events.push({ type: "fields", stream, kind, fields });
    if (isEnd) this.#peerEnded(state);
  }

  #receivePriority(head: FrameHead, payload: Bytes): void {
    if (head.stream === 0) fault(http2Codes.protocolError, "a priority on stream 0");
    this.#chat();
    if (payload.length !== 5) {
      this.#output.numbers(http2FrameTypes.reset, 0, head.stream, [http2Codes.frameSizeError]);
      const state = this.#streams.find(head.stream);
      if (state) {
        this.#failStream(state, http2Codes.frameSizeError, "a priority with a wrong size", { isTold: true });
      }
      return;
    }
    this.#checkDependency(head.stream, payload);
  }

  #checkDependency(stream: number, payload: Bytes): void {
    if (readU31(payload, 0) === stream) fault(http2Codes.protocolError, `stream ${stream} depends on itself`);
  }

  #receiveReset(head: FrameHead, payload: Bytes): void {
    if (head.stream === 0) fault(http2Codes.protocolError, "a reset of stream 0");
    if (payload.length !== 4) fault(http2Codes.frameSizeError, "a reset has a wrong size");
    if (this.#streams.isIdle(head.stream)) {
      fault(http2Codes.protocolError, "a reset of an unopened stream");
    }
    if (!this.#resets.take(this.#now)) fault(http2Codes.enhanceYourCalm, "too many streams are reset");
    const state = this.#streams.find(head.stream);
    if (!state) return;
    if (this.#now - state.since < hasty && !this.#hastyResets.take(this.#now)) {
      fault(http2Codes.enhanceYourCalm, "too many streams are reset right after they open");
    }
    this.#streams.close(state, "theirs");
    this.#events.push({ type: "reset", stream: head.stream, code: readU32(payload, 0), by: "peer" });
  }

  #receiveSettings(head: FrameHead, payload: Bytes): void {
    if (head.stream !== 0) fault(http2Codes.protocolError, "settings on a stream");
    this.#chat();
    if (head.flags & frameFlags.ack) {
      if (payload.length > 0) {
        fault(http2Codes.frameSizeError, "an acknowledgment of settings with a payload");
      }
      return;
    }
    const before = this.#peer.initialWindow;
    const { settings, tableSizes } = readSettings(payload, this.#peer);
    this.#peer = settings;
    for (const size of tableSizes) this.#encoder.limitTable(size);
    for (const state of this.#streams.all()) {
      state.sendWindow += settings.initialWindow - before;
      if (state.sendWindow > largestHttp2Window) {
        fault(http2Codes.flowControlError, "a window grows too large");
      }
    }
    this.#hasSettings = true;
    this.#output.frame(http2FrameTypes.settings, frameFlags.ack, 0, new Uint8Array(0));
    this.#events.push({ type: "settings" });
    if (settings.initialWindow > before) this.#events.push({ type: "writable", stream: undefined });
  }

  #receivePing(head: FrameHead, payload: Bytes): void {
    if (head.stream !== 0) fault(http2Codes.protocolError, "a ping on a stream");
    if (payload.length !== 8) fault(http2Codes.frameSizeError, "a ping has a wrong size");
    if (head.flags & frameFlags.ack) {
      this.#events.push({ type: "pong", number: readU32(payload, 4) });
      return;
    }
    if (!this.#hasSentData) this.#chat();
    this.#hasSentData = false;
    this.#output.frame(http2FrameTypes.ping, frameFlags.ack, 0, payload);
  }

  #receiveGoAway(head: FrameHead, payload: Bytes): void {
    if (head.stream !== 0) fault(http2Codes.protocolError, "GOAWAY on a stream");
    if (payload.length < 8) fault(http2Codes.frameSizeError, "GOAWAY has a wrong size");
    this.#chat();
    const lastStream = readU31(payload, 0);
    this.#peerLeft = { lastStream };
    const text = new TextDecoder().decode(payload.subarray(8, 8 + 200));
    this.#events.push({ type: "goAway", lastStream, code: readU32(payload, 4), text });
    for (const state of [...this.#streams.all()]) {
      if (!this.#streams.isOurs(state.id) || state.id <= lastStream) continue;
      this.#streams.close(state, "theirs");
      this.#events.push({ type: "reset", stream: state.id, code: http2Codes.refusedStream, by: "peer" });
    }
  }

  #receiveWindowUpdate(head: FrameHead, payload: Bytes): void {
    if (payload.length !== 4) fault(http2Codes.frameSizeError, "a window update has a wrong size");
    const more = readU31(payload, 0);
    if (head.stream === 0) {
      if (more === 0) fault(http2Codes.protocolError, "a window update of 0 bytes");
      this.#sendWindow += more;
      if (this.#sendWindow > largestHttp2Window) {
        fault(http2Codes.flowControlError, "the window grows too large");
      }
      this.#events.push({ type: "writable", stream: undefined });
      return;
    }
    if (this.#streams.isIdle(head.stream)) {
      fault(http2Codes.protocolError, "a window update for an unopened stream");
    }
    const state = this.#streams.find(head.stream);
    if (!state) return;
    if (more === 0) return this.#failStream(state, http2Codes.protocolError, "its window update is 0 bytes");
    state.sendWindow += more;
    if (state.sendWindow > largestHttp2Window) {
      return this.#failStream(state, http2Codes.flowControlError, "its window grows too large");
    }
    this.#events.push({ type: "writable", stream: head.stream });
  }

  /** Handles a frame for a closed stream: an error, unless the peer could not know yet. */
  #meetClosed(head: FrameHead): void {
    const end = this.#streams.endOf(head.stream);
    if (end === "idle") fault(http2Codes.protocolError, `stream ${head.stream} was never opened`);
    if (end === "ended") fault(http2Codes.streamClosed, `stream ${head.stream} has ended`);
    if (end === "ours") return;
    this.#chat();
    this.#output.numbers(http2FrameTypes.reset, 0, head.stream, [http2Codes.streamClosed]);
  }

  #sendFields(state: StreamState, fields: readonly HeaderField[], isEnd: boolean): void {
    const block = this.#encoder.encode(fields);
    let at = 0;
    do {
      const part = block.subarray(at, at + this.#peer.maxFrame);
      const isLast = at + part.length === block.length;
      const flags = (isLast ? frameFlags.endHeaders : 0) | (isEnd && at === 0 ? frameFlags.endStream : 0);
      this.#output.frame(
        at === 0 ? http2FrameTypes.headers : http2FrameTypes.continuation,
        flags,
        state.id,
        part,
      );
      at += part.length;
    } while (at < block.length);
    if (isEnd) this.#weEnded(state);
  }

  #weEnded(state: StreamState): void {
    state.hasEnded = true;
    if (state.peerEnded) this.#streams.close(state, "ended");
  }

  #peerEnded(state: StreamState): void {
    state.peerEnded = true;
    this.#events.push({ type: "end", stream: state.id });
    if (state.hasEnded) this.#streams.close(state, "ended");
  }

  #failStream(state: StreamState, code: number, because: string, { isTold = false } = {}): void {
    if (!isTold) this.#output.numbers(http2FrameTypes.reset, 0, state.id, [code]);
    this.#streams.close(state, "ours");
    this.#events.push({ type: "reset", stream: state.id, code, by: "us", because });
    if (!this.#resets.take(this.#now)) fault(http2Codes.enhanceYourCalm, "too many streams fail");
  }

  #acknowledge(count: number): void {
    this.#unacknowledged += count;
    if (this.#unacknowledged < this.#options.connectionWindow / 2) return;
    this.#growConnectionWindow(this.#unacknowledged);
    this.#unacknowledged = 0;
  }

  #growConnectionWindow(bytes: number): void {
    if (bytes <= 0) return;
    this.#output.numbers(http2FrameTypes.windowUpdate, 0, 0, [bytes]);
    this.#receiveWindow += bytes;
  }

  #windows(): { send: number; receive: number } {
    return { send: this.#peer.initialWindow, receive: this.#options.streamWindow };
  }

  /** Counts a frame that costs work without data. */
  #chat(): void {
    if (!this.#chatter.take(this.#now)) {
      fault(http2Codes.enhanceYourCalm, "too many empty frames");
    }
  }
}

function fault(code: number, what: string): never {
  throw new Http2Fault(code, what);
}

/** In ms: how long a stream counts as new. */
const hasty = 1000;
/** The maximum number of frames of one field list. */
const mostParts = 64;
/** Consumed bytes before a window update; on a slow line the updates also show that we are alive. */
const mostUntold = 128 * 1024;
const none = new Uint8Array(0);
