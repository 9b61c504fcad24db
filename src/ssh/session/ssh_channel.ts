import { type Conn, Inbox, StreamedConn } from "../../core/mod.ts";
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
export class SshChannel extends StreamedConn implements Conn {
  readonly peer: string;
  /** `relay` reads a channel best with its own growing buffers, as a socket. */
  readonly isSocket = true;
  onAbort: ((reason: unknown) => void) | undefined = undefined;
  readonly #link: ChannelLink;
  readonly #remote: number;
  readonly #packetSize: number;
  /** How many bytes the server still takes. */
  #sendable: number;
  readonly #inbox = new Inbox((count) => this.#giveBack(count), { areLent: false });
  #failure: unknown;
  #window = firstWindow;
  /** Read, but not yet given back to the server as window. */
  #taken = 0;
  #takenSinceCheck = 0;
  #checkedAt: number;
  #hasSentEnd = false;
  #hasSentClose = false;
  #isClosedByServer = false;
  #wakeWriter: (() => void) | undefined;

  constructor(link: ChannelLink, { peer, remote, window, packetSize }: ChannelTerms) {
    super();
    this.#link = link;
    this.peer = peer;
    this.#remote = remote;
    this.#sendable = window;
    this.#packetSize = packetSize;
    this.#checkedAt = link.now();
  }

  /** How many bytes wait to be read. */
  get held(): number {
    return this.#inbox.length;
  }

  read(into: Uint8Array<ArrayBuffer>): Promise<number | null> {
    return this.#inbox.read(into);
  }

  write(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    const isSimple = bytes.length <= this.#sendable && bytes.length <= this.#packetSize;
    if (!isSimple || this.#writeFailure !== undefined || this.#link.room()) return this.#writeSlowly(bytes);
    this.#send(bytes);
    return done;
  }

  async #writeSlowly(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      const failure = this.#writeFailure;
      if (failure !== undefined) throw failure;
      const room = this.#link.room();
      const count = room ? 0 : Math.min(bytes.length - at, this.#sendable, this.#packetSize);
      if (count === 0) {
        await this.#woken(room);
      } else {
        this.#send(bytes.subarray(at, at + count));
        at += count;
      }
    }
  }

  /** An abort must not wait for a session that stands still. */
  #woken(room: Promise<void> | undefined): Promise<void> {
    return new Promise((resolve) => {
      this.#wakeWriter = resolve;
      room?.then(resolve);
    });
  }

  #send(bytes: Uint8Array<ArrayBuffer>): void {
    if (bytes.length === 0) return;
    this.#sendable -= bytes.length;
    this.#link.sendData(this.#remote, bytes);
  }

  get #writeFailure(): unknown {
    if (this.#failure !== undefined) return this.#failure;
    if (this.#isClosedByServer) return this.#closedError();
    return this.#hasSentEnd ? new Error("write after the end") : undefined;
  }

  closeWrite(): Promise<void> {
    if (this.#hasSentEnd || this.#hasSentClose) return done;
    this.#hasSentEnd = true;
    this.#link.sendEnd(this.#remote);
    // Both directions are at their end: nothing is left to wait for.
    if (this.#inbox.hasEnded) this.#close();
    return done;
  }

  abort(reason: unknown = dropped): void {
    if (this.#failure === undefined) this.#fail(reason, { dropsHeld: true });
    this.#close();
    const tell = this.onAbort;
    this.onAbort = undefined;
    tell?.(reason);
  }

  [Symbol.asyncDispose](): Promise<void> {
    // What has ended on both sides is over already, without an error that nobody would see.
    if (!this.#hasSentClose || this.#inbox.length > 0) {
      this.#fail(closedHere, { dropsHeld: true });
      this.#close();
    }
    this.#failure ??= closedHere;
    return done;
  }

  /** Data of the server; it stays ours. */
  onData(data: Uint8Array<ArrayBuffer>): void {
    if (this.#failure !== undefined || this.#inbox.hasEnded || data.length === 0) return;
    // As OpenSSH, which forgives a tenth: else a server could make us hold whatever it likes.
    if (this.#taken + this.#inbox.length + data.length > this.#window * 1.1) {
      return this.abort(this.#floodError());
    }
    this.#inbox.put(data);
  }

  /** The server takes more. */
  onWindow(amount: number): void {
    this.#sendable += amount;
    this.#wake();
  }

  /** The server sends nothing more. */
  onEnd(): void {
    if (this.#inbox.hasEnded || this.#failure !== undefined) return;
    this.#inbox.end();
    if (this.#hasSentEnd) this.#close();
  }

  /** The server is done with the channel. */
  onClose(): void {
    this.#isClosedByServer = true;
    this.onEnd();
    this.#close();
    this.#wake();
  }

  /** The session has gone. */
  onLost(error: unknown): void {
    this.#hasSentClose = true;
    if (this.#failure === undefined && !(this.#inbox.hasEnded && this.#hasSentEnd)) {
      this.#fail(error, { dropsHeld: false });
    }
  }

  #giveBack(count: number): void {
    this.#taken += count;
    this.#takenSinceCheck += count;
    // In portions that are small beside the window: at half of it, a long way would stand still meanwhile.
    if (this.#taken < this.#window >> 4 || this.#inbox.hasEnded || this.#hasSentClose) return;
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

  #fail(error: unknown, { dropsHeld }: { dropsHeld: boolean }): void {
    this.#failure ??= error;
    if (dropsHeld) this.#inbox.clear();
    // What has ended stays so for its reader.
    if (!this.#inbox.hasEnded) this.#inbox.fail(this.#failure);
    this.#wake();
  }

  #close(): void {
    if (this.#hasSentClose) return;
    this.#hasSentClose = true;
    this.#link.sendClose(this.#remote);
    this.#wake();
  }

  #wake(): void {
    const wake = this.#wakeWriter;
    this.#wakeWriter = undefined;
    wake?.();
  }

  #floodError(): PosternError {
    return new PosternError("protocol", `Cannot go on with ${this.peer}: the server sends more than it may`);
  }

  #closedError(): PosternError {
    return new PosternError("unreachable", `Cannot go on with ${this.peer}: it was closed`, {
      detail: "reset",
    });
  }
}

const done: Promise<void> = Promise.resolve();
/** Made once: connections end often, and nobody reads the stack. */
const dropped = new DOMException("The connection was dropped", "AbortError");
const closedHere = new PosternError("cancelled", "The connection was closed here");
