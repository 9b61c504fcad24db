import { type Conn, Inbox, StreamedConn } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";

/** What a stream needs of what carries it. */
export interface ForwardLink {
  /** Sends data of the stream, which is copied. */
  send(bytes: Uint8Array<ArrayBuffer>): void;
  /** Says that no more data comes. */
  sendEnd(): void;
  /** Says that the stream is over in both directions. */
  sendReset(): void;
  /** Waits until more may be sent; undefined where it may. Never fails. */
  room(): Promise<void> | undefined;
  /** Told after the reader took bytes. */
  onTaken(): void;
  /** Told once the stream needs nothing more. */
  onOver(): void;
}

export interface ForwardStreamOptions {
  readonly peer: string;
  /** False where the protocol cannot say that one direction has ended. */
  readonly carriesHalfClose?: boolean;
}

/** A connection into a pod, one of those that a session carries. Who carries it bounds what it holds. */
export class ForwardStream extends StreamedConn implements Conn {
  readonly peer: string;
  /** `relay` reads it best with its own growing buffers, as a socket. */
  readonly isSocket = true;
  readonly carriesHalfClose: boolean;
  onAbort: ((reason: unknown) => void) | undefined = undefined;
  readonly #link: ForwardLink;
  readonly #inbox = new Inbox((count) => this.#onUsed(count));
  #received = 0;
  #taken = 0;
  #isExpectant = false;
  #haveEnded = false;
  #isOver = false;
  #failure: unknown;
  #wakeWriter: (() => void) | undefined;

  constructor(link: ForwardLink, { peer, carriesHalfClose = true }: ForwardStreamOptions) {
    super();
    this.#link = link;
    this.peer = peer;
    this.carriesHalfClose = carriesHalfClose;
  }

  /** How many bytes wait to be read. */
  get held(): number {
    return this.#inbox.length;
  }

  /** How many bytes came so far. */
  get received(): number {
    return this.#received;
  }

  /** How many bytes were read so far. */
  get taken(): number {
    return this.#taken;
  }

  /** Whether the client said something after which nothing has come. */
  get isExpectant(): boolean {
    return this.#isExpectant;
  }

  read(into: Uint8Array<ArrayBuffer>): Promise<number | null> {
    return this.#inbox.read(into);
  }

  write(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    if (bytes.length > largestPart || this.#writeFailure !== undefined || this.#link.room()) {
      return this.#writeSlowly(bytes);
    }
    this.#send(bytes);
    return done;
  }

  #send(bytes: Uint8Array<ArrayBuffer>): void {
    if (bytes.length === 0) return;
    this.#isExpectant = true;
    this.#link.send(bytes);
  }

  async #writeSlowly(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      const failure = this.#writeFailure;
      if (failure !== undefined) throw failure;
      const room = this.#link.room();
      if (room) {
        await this.#woken(room);
        continue;
      }
      this.#send(bytes.subarray(at, at + largestPart));
      at += largestPart;
    }
    const failure = this.#writeFailure;
    if (failure !== undefined) throw failure;
  }

  /** An abort must not wait for a session that stands still. */
  #woken(room: Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      this.#wakeWriter = resolve;
      room.then(resolve);
    });
  }

  get #writeFailure(): unknown {
    if (this.#failure !== undefined) return this.#failure;
    return this.#haveEnded ? new Error("write after the end") : undefined;
  }

  closeWrite(): Promise<void> {
    if (this.#haveEnded || this.#isOver) return done;
    this.#haveEnded = true;
    this.#link.sendEnd();
    if (this.#inbox.hasEnded) this.#finish();
    return done;
  }

  abort(reason: unknown = dropped): void {
    if (this.#failure === undefined) this.#fail(reason, { dropsHeld: true });
    this.#drop();
    const tell = this.onAbort;
    this.onAbort = undefined;
    tell?.(reason);
  }

  [Symbol.asyncDispose](): Promise<void> {
    // What has ended on both sides is over already, without an error that nobody would see.
    if (!this.#isOver || this.#inbox.length > 0) {
      this.#fail(closedHere, { dropsHeld: true });
      this.#drop();
    }
    this.#failure ??= closedHere;
    return done;
  }

  /** Data of the pod: a view of a buffer that is used again. */
  onData(data: Uint8Array<ArrayBuffer>): void {
    if (this.#failure !== undefined || this.#inbox.hasEnded || data.length === 0) return;
    this.#received += data.length;
    this.#isExpectant = false;
    this.#inbox.put(data);
  }

  /** The pod sends nothing more. */
  onEnd(): void {
    if (this.#inbox.hasEnded || this.#failure !== undefined) return;
    this.#inbox.end();
    if (this.#haveEnded) this.#finish();
  }

  /** The stream has failed; what came before can still be read. */
  onFailure(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (!(this.#inbox.hasEnded && this.#haveEnded)) this.#fail(error, { dropsHeld: false });
    this.#link.onOver();
  }

  #onUsed(count: number): void {
    this.#taken += count;
    this.#link.onTaken();
  }

  #fail(error: unknown, { dropsHeld }: { dropsHeld: boolean }): void {
    this.#failure ??= error;
    if (dropsHeld) this.#inbox.clear();
    // What has ended stays so for its reader.
    if (!this.#inbox.hasEnded) this.#inbox.fail(this.#failure);
    this.#wake();
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#wake();
    this.#link.onOver();
  }

  #drop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#link.sendReset();
    this.#link.onOver();
  }

  #wake(): void {
    const wake = this.#wakeWriter;
    this.#wakeWriter = undefined;
    wake?.();
  }
}

const done: Promise<void> = Promise.resolve();
/**
 * One frame: the streams of a session take turns by frames. The server's workers count frames, not bytes: with smaller
 * ones a way that is long would be kept busy for a part of the time only.
 */
const largestPart = 256 * 1024;
/** Made once: connections end often, and nobody reads the stack. */
const dropped = new DOMException("The connection was dropped", "AbortError");
const closedHere = new PosternError("cancelled", "The connection was closed here");
