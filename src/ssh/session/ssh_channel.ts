import { MuxStream, type StreamEnd } from "../../mux/mod.ts";
import { PosternError } from "../../words/mod.ts";

/** What a channel needs of the session that carries it. */
export interface ChannelLink {
  sendData(channel: number, bytes: Uint8Array<ArrayBuffer>): void;
  sendWindow(channel: number, amount: number): void;
  sendEnd(channel: number): void;
  sendClose(channel: number): void;
  /** Waits until the session's socket has taken what was sent; undefined when it has. Never fails. */
  room(): Promise<void> | undefined;
  now(): number;
  /** The shortest round trip seen, in ms. */
  readonly roundTrip: number | undefined;
}

/** What both sides agreed on when the channel was opened. */
export interface ChannelTerms {
  readonly peer: string;
  /** The server's number for it. */
  readonly remote: number;
  /** How many bytes the server takes now. */
  readonly window: number;
  readonly packetSize: number;
}

/** How much a channel may receive before it is read, at first. */
export const firstWindow = 2 * 1024 * 1024;
/** How much at most, where a long way is kept busy by a reader that keeps up. */
export const largestWindow = 16 * 1024 * 1024;

/**
 * A connection inside an ssh session. What it holds is bounded by its window, which grows while a quick reader
 * empties all of it within two round trips: then the window, not the way, is what makes it slow.
 */
export class SshChannel extends MuxStream {
  readonly #link: ChannelLink;
  readonly #remote: number;
  #window = firstWindow;
  /** Read, but not yet given back to the server as window. */
  #taken = 0;
  #takenSinceCheck = 0;
  #checkedAt: number;

  constructor(link: ChannelLink, { peer, remote, window, packetSize }: ChannelTerms) {
    super({ peer, window, pieceSize: packetSize, areLent: false });
    this.#link = link;
    this.#remote = remote;
    this.#checkedAt = link.now();
  }

  /** Data of the server; it stays ours. */
  override onData(data: Uint8Array<ArrayBuffer>): void {
    // As OpenSSH, which forgives a tenth: else a server could make us hold whatever it likes.
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
    // In portions that are small beside the window: at half of it, a long way would stand still meanwhile.
    if (this.#taken < this.#window >> 4 || this.inbox.hasEnded || this.isOver) return;
    const grown = this.#grown();
    this.#link.sendWindow(this.#remote, this.#taken + grown);
    this.#taken = 0;
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
    return new PosternError("protocol", `Cannot go on with ${this.peer}: the server sends more than it may`);
  }
}
