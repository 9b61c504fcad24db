import { malformed } from "../decoder.ts";
import {
  dataHead,
  flagFin,
  goAwayFrame,
  mostFrameData,
  pingFrame,
  replyFrame,
  resetCodes,
  rstStreamFrame,
  spdyFrameTypes,
  synStreamFrame,
} from "./spdy_frames.ts";
import { SpdyHeaderWriter } from "./spdy_headers.ts";
import { SpdyReader } from "./spdy_reader.ts";

/** An effect for the driver; bytes are views of the input of `receive`, valid until its next call. */
export type SpdyEffect =
  | { readonly kind: "send"; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: "opened"; readonly stream: number; readonly headers: ReadonlyMap<string, string> }
  | { readonly kind: "accepted"; readonly stream: number }
  | { readonly kind: "data"; readonly stream: number; readonly bytes: Uint8Array<ArrayBuffer> }
  /** The peer sends nothing more on the stream. */
  | { readonly kind: "ended"; readonly stream: number }
  /** Both directions of the stream have ended. */
  | { readonly kind: "reset"; readonly stream: number; readonly code: number }
  /** The peer responded to our ping. */
  | { readonly kind: "pong"; readonly id: number }
  /** The peer accepts no new streams; it did not serve those after `lastStream`. */
  | { readonly kind: "goingAway"; readonly lastStream: number };

/**
 * The streams of a SPDY/3.1 session, for either side: received bytes become effects, our actions become bytes. It never
 * waits and does no I/O.
 *
 * Ignores windows: moby/spdystream, the only implementation used for port-forwards, neither opens nor obeys any
 * (docs/decisions/port-forward.md).
 */
export class SpdySession {
  readonly #reader = new SpdyReader();
  readonly #headers = new SpdyHeaderWriter();
  readonly #streams = new Map<number, Stream>();
  /** A client's streams and pings have odd numbers, a server's have even ones (sections 2.3.2 and 2.6.5). */
  #nextStream: number;
  #nextPing: number;
  #lastOfPeer = 0;

  constructor(role: "client" | "server") {
    this.#nextStream = role === "client" ? 1 : 2;
    this.#nextPing = this.#nextStream;
  }

  /** The number of open streams. */
  get size(): number {
    return this.#streams.size;
  }

  /** The number of the next opened stream. */
  get nextStream(): number {
    return this.#nextStream;
  }

  receive(bytes: Uint8Array<ArrayBuffer>): SpdyEffect[] {
    const effects: SpdyEffect[] = [];
    for (const frame of this.#reader.receive(bytes)) {
      switch (frame.kind) {
        case "data":
          this.#onData(frame, effects);
          break;
        case "open":
          this.#onOpen(frame, effects);
          break;
        case "reply":
          // Report it even for a stream that we closed: it shows the peer's progress.
          effects.push({ kind: "accepted", stream: frame.stream });
          if (frame.isLast) this.#onEnd(frame.stream, effects);
          break;
        case "headers":
          if (frame.isLast) this.#onEnd(frame.stream, effects);
          break;
        case "reset":
          if (this.#streams.delete(frame.stream)) {
            effects.push({ kind: "reset", stream: frame.stream, code: frame.code });
          }
          break;
        case "ping":
          if (frame.id % 2 === this.#nextPing % 2) effects.push({ kind: "pong", id: frame.id });
          else effects.push({ kind: "send", bytes: pingFrame(frame.id) });
          break;
        case "goAway":
          effects.push({ kind: "goingAway", lastStream: frame.lastStream });
      }
    }
    return effects;
  }

  /** Opens a stream; `isLast` when we send only headers. */
  open(
    headers: Iterable<readonly [name: string, value: string]>,
    { isLast = false }: { isLast?: boolean } = {},
  ): { stream: number; bytes: Uint8Array<ArrayBuffer> } {
    const stream = this.#nextStream;
    if (stream > lastNumber) throw malformed("a SPDY session has no stream numbers left");
    this.#nextStream += 2;
    this.#streams.set(stream, { hasPeerEnded: false, haveEnded: isLast });
    return {
      stream,
      bytes: synStreamFrame(stream, this.#headers.write(headers), { flags: isLast ? flagFin : 0 }),
    };
  }

  /** Skips a stream number. */
  skip(): void {
    this.#nextStream += 2;
  }

  /** Encodes the acceptance of a peer's stream. */
  reply(stream: number): Uint8Array<ArrayBuffer> {
    return replyFrame(spdyFrameTypes.synReply, stream, this.#headers.write([]));
  }

  /** Encodes the header before `length` bytes of data. */
  dataHead(stream: number, length: number): Uint8Array<ArrayBuffer> {
    if (length > mostFrameData) throw malformed(`a SPDY frame cannot hold ${length} bytes`);
    return dataHead(stream, length);
  }

  /** Ends our direction of a stream; undefined when it has already ended. */
  end(stream: number): Uint8Array<ArrayBuffer> | undefined {
    const state = this.#streams.get(stream);
    if (!state || state.haveEnded) return undefined;
    state.haveEnded = true;
    if (state.hasPeerEnded) this.#streams.delete(stream);
    return dataHead(stream, 0, flagFin);
  }

  /** Resets a stream; undefined when it has already ended. */
  reset(stream: number, code: number = resetCodes.cancel): Uint8Array<ArrayBuffer> | undefined {
    return this.#streams.delete(stream) ? rstStreamFrame(stream, code) : undefined;
  }

  ping(): { id: number; bytes: Uint8Array<ArrayBuffer> } {
    const id = this.#nextPing;
    this.#nextPing = id + 2 > 0xffff_ffff ? (id % 2 === 0 ? 2 : 1) : id + 2;
    return { id, bytes: pingFrame(id) };
  }

  /** Refuses new streams. */
  goAway(): Uint8Array<ArrayBuffer> {
    return goAwayFrame(this.#lastOfPeer);
  }

  #onData(
    { stream, bytes, isLast }: { stream: number; bytes: Uint8Array<ArrayBuffer>; isLast: boolean },
    effects: SpdyEffect[],
  ): void {
    const state = this.#streams.get(stream);
    // Data of a stream that we have reset may still be in flight.
    if (!state || state.hasPeerEnded) return;
    if (bytes.length > 0) effects.push({ kind: "data", stream, bytes });
    if (isLast) this.#onEnd(stream, effects);
  }

  #onEnd(stream: number, effects: SpdyEffect[]): void {
    const state = this.#streams.get(stream);
    if (!state || state.hasPeerEnded) return;
    state.hasPeerEnded = true;
    if (state.haveEnded) this.#streams.delete(stream);
    effects.push({ kind: "ended", stream });
  }

  #onOpen(
    { stream, headers, isLast }: {
      stream: number;
      headers: ReadonlyMap<string, string>;
      isLast: boolean;
    },
    effects: SpdyEffect[],
  ): void {
    if (stream % 2 === this.#nextStream % 2 || stream <= this.#lastOfPeer) {
      throw malformed(`the peer opened a SPDY stream with the number ${stream}`);
    }
    this.#lastOfPeer = stream;
    this.#streams.set(stream, { hasPeerEnded: isLast, haveEnded: false });
    effects.push({ kind: "opened", stream, headers });
    if (isLast) effects.push({ kind: "ended", stream });
  }
}

interface Stream {
  hasPeerEnded: boolean;
  haveEnded: boolean;
}

const lastNumber = 0x7fff_ffff;
