import { type Bytes, type Conn, Inbox, StreamedConn } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";

export interface MuxStreamTerms {
  readonly peer: string;
  /** The most bytes that go in one piece. */
  readonly pieceSize: number;
  /** How many bytes the peer takes before it allows more; no limit when absent. */
  readonly window?: number;
  /** False where received data belongs to the stream; else it is a view of a buffer that is used again. */
  readonly areLent?: boolean;
}

/** How a stream ended: in both directions, dropped here, closed by the peer, or lost with what carries it. */
export type StreamEnd = "ended" | "dropped" | "closed" | "lost";

/**
 * One stream of a connection that carries many: a `Conn` with a window, a half-close, an abort that waits for nothing,
 * and an end that is said once. The subclass knows the protocol; it bounds what the stream holds.
 */
export abstract class MuxStream extends StreamedConn implements Conn {
  readonly peer: string;
  /** `relay` reads a stream best with its own growing buffers, as a socket. */
  readonly isSocket = true;
  onAbort: ((reason: unknown) => void) | undefined = undefined;
  protected readonly inbox: Inbox;
  readonly #pieceSize: number;
  /** How many bytes the peer still takes. */
  #credit: number;
  #failure: unknown;
  #haveEnded = false;
  #isOver = false;
  #wakeWriter: (() => void) | undefined;
  #failWriter: ((why: unknown) => void) | undefined;

  constructor({ peer, pieceSize, window = Infinity, areLent = true }: MuxStreamTerms) {
    super();
    this.peer = peer;
    this.#pieceSize = pieceSize;
    this.#credit = window;
    this.inbox = new Inbox((count) => this.onTaken(count), { areLent });
  }

  /** Sends a piece; the promise, where there is one, resolves once its bytes may be changed. */
  protected abstract send(bytes: Bytes): Promise<void> | undefined;
  /** Tells the peer that no more data comes. */
  protected abstract sendEnd(): Promise<void> | undefined;
  /** Called once, when the stream needs nothing more; tells the peer where it does not know. */
  protected abstract onOver(how: StreamEnd): void;
  /** Called after the reader took bytes. */
  protected abstract onTaken(count: number): void;

  /** Waits until what carries the stream takes more; undefined when it does. The promise never fails. */
  protected room(): Promise<void> | undefined {
    return undefined;
  }

  /** Both directions have ended: nothing is left to wait for. */
  protected onBothEnded(): void {
    this.#over("ended");
  }

  /** How many bytes wait to be read. */
  get held(): number {
    return this.inbox.length;
  }

  /** Whether data of the peer still counts. */
  protected get takesData(): boolean {
    return this.#failure === undefined && !this.inbox.hasEnded;
  }

  protected get isOver(): boolean {
    return this.#isOver;
  }

  protected get failure(): unknown {
    return this.#failure;
  }

  read(into: Bytes): Promise<number | null> {
    return this.inbox.read(into);
  }

  write(bytes: Bytes): Promise<void> {
    const count = bytes.length;
    const isSimple = count > 0 && count <= this.#credit && count <= this.#pieceSize && this.#takesWrites;
    if (!isSimple || this.room()) return this.writeInPieces(bytes);
    this.#credit -= count;
    return this.send(bytes) ?? done;
  }

  /** As `write`, for bytes that need several pieces or have to wait. */
  protected async writeInPieces(bytes: Bytes): Promise<void> {
    let at = 0;
    do {
      if (!this.#takesWrites) throw this.#writeFailure();
      const room = this.room();
      const count = room ? 0 : Math.min(bytes.length - at, this.#credit, this.#pieceSize);
      if (count > 0) {
        this.#credit -= count;
        const sending = this.send(bytes.subarray(at, at + count));
        at += count;
        try {
          if (sending) await this.#sent(sending);
        } catch (error) {
          // The reason of an abort says more than what became of the piece.
          throw this.#failure ?? error;
        }
      } else if (at < bytes.length) await this.#woken(room);
    } while (at < bytes.length);
  }

  /** As `#woken`, for a piece that is under way: only a failure ends the wait early, since its bytes are still read. */
  #sent(sending: Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#failWriter = reject;
      sending.then(resolve, reject);
    });
  }

  /** An abort must not wait for a session that stands still. */
  #woken(room: Promise<void> | undefined): Promise<void> {
    return new Promise((resolve) => {
      this.#wakeWriter = resolve;
      room?.then(resolve);
    });
  }

  /** Until our direction has ended, and nothing has failed. */
  get #takesWrites(): boolean {
    return !this.#haveEnded && !this.#isOver && this.#failure === undefined;
  }

  #writeFailure(): unknown {
    if (this.#failure !== undefined) return this.#failure;
    return this.#haveEnded ? new Error("write after the end") : closedByPeer(this.peer);
  }

  closeWrite(): Promise<void> {
    if (this.#haveEnded || this.#isOver) return done;
    this.#haveEnded = true;
    const sending = this.sendEnd();
    if (this.inbox.hasEnded) this.onBothEnded();
    return sending ?? done;
  }

  abort(reason: unknown = dropped): void {
    if (this.#failure === undefined) this.#fail(reason, { dropsHeld: true });
    this.#over("dropped");
    this.tellAbort(reason);
  }

  [Symbol.asyncDispose](): Promise<void> {
    // A stream that ended on both sides is over already and gets no error.
    if (!this.#isOver || this.inbox.length > 0) {
      this.#fail(closedHere, { dropsHeld: true });
      this.#over("dropped");
    }
    this.#failure ??= closedHere;
    return done;
  }

  /** Data of the peer. */
  onData(data: Bytes): void {
    if (this.takesData) this.inbox.put(data);
  }

  /** The peer takes more. */
  onWindow(amount: number): void {
    this.#credit += amount;
    this.#wake();
  }

  /** The peer sends nothing more. */
  onEnd(): void {
    if (!this.takesData) return;
    this.inbox.end();
    if (this.#haveEnded) this.onBothEnded();
  }

  /** The peer is done with both directions. */
  onClose(): void {
    if (this.takesData) this.inbox.end();
    this.#over("closed");
  }

  /** The stream has failed; what came before can still be read. */
  onFailure(error: unknown): void {
    if (this.#isOver) return;
    if (!(this.inbox.hasEnded && this.#haveEnded)) this.#fail(error, { dropsHeld: false });
    this.#over("lost");
  }

  protected tellAbort(reason: unknown): void {
    const tell = this.onAbort;
    this.onAbort = undefined;
    tell?.(reason);
  }

  #fail(error: unknown, { dropsHeld }: { readonly dropsHeld: boolean }): void {
    this.#failure ??= error;
    if (dropsHeld) this.inbox.clear();
    // What has ended stays so for its reader.
    if (!this.inbox.hasEnded) this.inbox.fail(this.#failure);
    this.#wake();
    this.#failWriter?.(this.#failure);
  }

  #over(how: StreamEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#wake();
    this.onOver(how);
  }

  #wake(): void {
    const wake = this.#wakeWriter;
    this.#wakeWriter = undefined;
    wake?.();
  }
}

function closedByPeer(peer: string): PosternError {
  return new PosternError("unreachable", `Cannot go on with ${peer}: it was closed`, { detail: "reset" });
}

const done: Promise<void> = Promise.resolve();
/** Made once: connections end often, and the stack is never shown. */
const dropped = new DOMException("The connection was dropped", "AbortError");
const closedHere = new PosternError("cancelled", "The connection was closed here");
