import { Http2Fault } from "./http2_fault.ts";
import { http2Codes } from "./http2_frames.ts";

/** A stream open in at least one direction. */
export interface StreamState {
  readonly id: number;
  /** When it was opened, in ms. */
  readonly since: number;
  /** The number of bytes that we may send. */
  sendWindow: number;
  /** The number of bytes that the peer may send. */
  receiveWindow: number;
  /** Consumed bytes without a window update yet. */
  unacknowledged: number;
  /** Whether the first field list has arrived, not counting interim responses. */
  hasFields: boolean;
  interim: number;
  hasEnded: boolean;
  peerEnded: boolean;
  received: number;
  /** The length declared in its fields. */
  declared: number | undefined;
}

/** The initial windows of a stream, for each side. */
interface Windows {
  readonly send: number;
  readonly receive: number;
}

/** How a stream ended: normally, by our reset or the peer's; `forgotten` means one of these, long ago. */
export type Http2StreamEnd = "idle" | "ended" | "ours" | "theirs" | "forgotten";

/** The streams of one connection and the ends of recent ones (RFC 9113, section 5.1). */
export class Http2Streams {
  readonly #open = new Map<number, StreamState>();
  readonly #ends = new Map<number, Http2StreamEnd>();
  /** Our stream numbers modulo two. */
  readonly #ourParity: number;
  #nextOfOurs: number;
  #lastOfPeer = 0;

  constructor(role: "client" | "server") {
    this.#ourParity = role === "client" ? 1 : 0;
    this.#nextOfOurs = role === "client" ? 1 : 2;
  }

  get size(): number {
    return this.#open.size;
  }

  get lastOfPeer(): number {
    return this.#lastOfPeer;
  }

  get hasIds(): boolean {
    return this.#nextOfOurs <= 0x7fff_ffff;
  }

  all(): Iterable<StreamState> {
    return this.#open.values();
  }

  find(id: number): StreamState | undefined {
    return this.#open.get(id);
  }

  isOurs(id: number): boolean {
    return id % 2 === this.#ourParity;
  }

  /** Whether neither side has used this number or a higher one. */
  isIdle(id: number): boolean {
    return this.isOurs(id) ? id >= this.#nextOfOurs : id > this.#lastOfPeer;
  }

  isNew(id: number): boolean {
    return !this.isOurs(id) && id > this.#lastOfPeer;
  }

  /** Throws for a number that the peer may not open. */
  admit(id: number): void {
    if (this.isOurs(id) && this.isIdle(id)) {
      throw new Http2Fault(http2Codes.protocolError, `the peer may not open stream ${id}`);
    }
  }

  open(windows: Windows, since: number): StreamState {
    const id = this.#nextOfOurs;
    this.#nextOfOurs += 2;
    return this.#add(id, windows, since);
  }

  accept(id: number, windows: Windows, since: number): StreamState {
    this.#lastOfPeer = id;
    return this.#add(id, windows, since);
  }

  /** Rejects a new stream of the peer. */
  refuse(id: number): void {
    this.#lastOfPeer = id;
    this.#remember(id, "ours");
  }

  close(state: StreamState, end: Http2StreamEnd): void {
    this.#open.delete(state.id);
    this.#remember(state.id, end);
  }

  /** How a closed stream ended. */
  endOf(id: number): Http2StreamEnd {
    if (this.isIdle(id)) return "idle";
    const end = this.#ends.get(id);
    if (end) return end;
    // Skipped by its side, or forgotten long ago.
    return this.#ends.size < remembered ? "idle" : "forgotten";
  }

  #remember(id: number, end: Http2StreamEnd): void {
    this.#ends.set(id, end);
    if (this.#ends.size <= remembered) return;
    for (const oldest of this.#ends.keys()) {
      this.#ends.delete(oldest);
      break;
    }
  }

  #add(id: number, windows: Windows, since: number): StreamState {
    const state: StreamState = {
      id,
      since,
      sendWindow: windows.send,
      receiveWindow: windows.receive,
      unacknowledged: 0,
      hasFields: false,
      interim: 0,
      hasEnded: false,
      peerEnded: false,
      received: 0,
      declared: undefined,
    };
    this.#open.set(id, state);
    return state;
  }
}

/** The number of remembered ends: enough for frames still in flight. */
const remembered = 1000;
