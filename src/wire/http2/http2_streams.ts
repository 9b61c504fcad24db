import { Http2Fault } from "./http2_fault.ts";
import { http2Codes } from "./http2_frames.ts";

/** One stream that is open in at least one direction. */
export interface StreamState {
  readonly id: number;
  /** When it was opened, in ms. */
  readonly since: number;
  /** How many bytes the peer lets us send. */
  sendWindow: number;
  /** How many bytes we let the peer send. */
  receiveWindow: number;
  /** Bytes that were used and that the peer was not told of yet. */
  unacknowledged: number;
  /** The first list of fields has come, but for those of interim responses. */
  hasFields: boolean;
  /** How many interim responses have come. */
  interim: number;
  hasEnded: boolean;
  peerEnded: boolean;
  received: number;
  /** How many bytes its fields say it has. */
  declared: number | undefined;
}

/** How much may be sent on a new stream, by either side. */
interface Windows {
  readonly send: number;
  readonly receive: number;
}

/** How a stream came to its end: as it should, by a reset of ours or theirs; `forgotten` is one of those, long ago. */
export type Http2StreamEnd = "idle" | "ended" | "ours" | "theirs" | "forgotten";

/** The streams of one connection and what became of the latest ones (RFC 9113, section 5.1). */
export class Http2Streams {
  readonly #open = new Map<number, StreamState>();
  readonly #ends = new Map<number, Http2StreamEnd>();
  /** What our numbers leave when divided by two. */
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

  /** Whether nobody has used this number or a higher one yet. */
  isIdle(id: number): boolean {
    return this.isOurs(id) ? id >= this.#nextOfOurs : id > this.#lastOfPeer;
  }

  isNew(id: number): boolean {
    return !this.isOurs(id) && id > this.#lastOfPeer;
  }

  /** Refuses numbers that fields can never begin. */
  admit(id: number): void {
    if (this.isOurs(id) && this.isIdle(id)) {
      throw new Http2Fault(http2Codes.protocolError, `stream ${id} is not for this side to begin`);
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

  /** A stream of the peer that is not let in. */
  refuse(id: number): void {
    this.#lastOfPeer = id;
    this.#remember(id, "ours");
  }

  close(state: StreamState, end: Http2StreamEnd): void {
    this.#open.delete(state.id);
    this.#remember(state.id, end);
  }

  /** What became of a stream that is not open. */
  endOf(id: number): Http2StreamEnd {
    if (this.isIdle(id)) return "idle";
    const end = this.#ends.get(id);
    if (end) return end;
    // Left out by its side, or so long ago that it was forgotten.
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

/** How many ends are kept: enough for what may still be on its way. */
const remembered = 1000;
