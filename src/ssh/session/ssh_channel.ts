import { MuxStream, type StreamEnd } from "../../mux/mod.ts";
import { PosternError } from "../../words/mod.ts";

/** The parts of a session that a channel uses. */
export interface ChannelLink {
  sendData(channel: number, bytes: Uint8Array<ArrayBuffer>): void;
  sendWindow(channel: number, amount: number): void;
  sendEnd(channel: number): void;
  sendClose(channel: number): void;
  /** Waits until the session's socket has accepted all bytes; undefined if it already has. Never rejects. */
  room(): Promise<void> | undefined;
  now(): number;
  /** The shortest measured round trip, in ms. */
  readonly roundTrip: number | undefined;
  /** This channel's share of a window for the whole session; undefined if each channel's window grows by itself. */
  readonly share: number | undefined;
}

/** The parameters of an opened channel. */
export interface ChannelTerms {
  readonly peer: string;
  /** The server's channel number. */
  readonly remote: number;
  /** How many bytes the server accepts now. */
  readonly window: number;
  readonly packetSize: number;
  /** How many bytes the server may send now. */
  readonly receives: number;
}

/** How many bytes a channel may initially receive before the reader consumes them. */
export const firstWindow = 2 * 1024 * 1024;
/** The maximum window, for a path with a long round trip and a fast reader. */
export const largestWindow = 16 * 1024 * 1024;

/**
 * A connection inside an ssh session. Its window limits how much it buffers. The window grows when a reader
 * empties all of it within two round trips: then the window, not the network, limits the speed.
 */
export class SshChannel extends MuxStream {
  readonly #link: ChannelLink;
  readonly #remote: number;
  #window: number;
  /** Consumed, but not yet returned to the server as window. */
  #taken = 0;
  #takenSinceCheck = 0;
  #checkedAt: number;

  constructor(link: ChannelLink, { peer, remote, window, packetSize, receives }: ChannelTerms) {
    super({ peer, window, pieceSize: packetSize, areLent: false });
    this.#link = link;
    this.#remote = remote;
    this.#checkedAt = link.now();
    this.#window = receives;
  }

  /** Receives data from the server; the caller may reuse the buffer. */
  override onData(data: Uint8Array<ArrayBuffer>): void {
    // Like OpenSSH, tolerate a tenth more. Without a limit, a server could fill our memory.
    if (this.takesData && this.#taken + this.held + data.length > this.#window * 1.1) {
      return this.abort(this.#floodError());
    }
    super.onData(data);
  }

  protected override send(bytes: Uint8Array<ArrayBuffer>): undefined {
    this.#link.sendData(this.#remote, bytes);
  }

  protected override sendEnd(): undefined {
    this.#link.sendEnd(this.#remote);
  }

  protected override onOver(how: StreamEnd): void {
    if (how !== "lost") this.#link.sendClose(this.#remote);
  }

  protected override room(): Promise<void> | undefined {
    return this.#link.room();
  }

  protected override onTaken(count: number): void {
    this.#taken += count;
    this.#takenSinceCheck += count;
    const { share } = this.#link;
    if (share !== undefined && share < this.#window) this.#shrink(share);
    // Return the window in small portions: at half of it, a path with a long round trip would stall.
    if (this.#taken < this.#window >> 4 || this.inbox.hasEnded || this.isOver) return;
    const grown = share === undefined ? this.#grown() : this.#grow(share);
    this.#link.sendWindow(this.#remote, this.#taken + grown);
    this.#taken = 0;
  }

  /** Keeps consumed bytes instead of returning them. */
  #shrink(share: number): void {
    const less = Math.min(this.#taken, this.#window - share);
    this.#window -= less;
    this.#taken -= less;
  }

  #grow(share: number): number {
    const more = Math.max(0, share - this.#window);
    this.#window += more;
    return more;
  }

  #grown(): number {
    if (this.#takenSinceCheck < this.#window) return 0;
    const now = this.#link.now();
    const ms = now - this.#checkedAt;
    this.#takenSinceCheck = 0;
    this.#checkedAt = now;
    const { roundTrip } = this.#link;
    if (roundTrip === undefined || ms > roundTrip * 2 || this.#window >= largestWindow) return 0;
    const more = this.#window;
    this.#window += more;
    return more;
  }

  #floodError(): PosternError {
    return new PosternError(
      "protocol",
      `Cannot keep the connection to ${this.peer}: the server exceeded the window`,
    );
  }
}
