import { type Bytes, type Conn, Inbox, StreamedConn } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";

export interface MuxStreamTerms {
  readonly peer: string;
  /** The maximum size of one piece. */
  readonly pieceSize: number;
  /** How many bytes the peer accepts initially; absent for no limit. */
  readonly window?: number;
  /**
   * False when received data belongs to the stream; otherwise it is a view of a buffer that will be reused.
   */
  readonly areLent?: boolean;
}

/** How a stream ended: in both directions, dropped by us, closed by the peer, or lost with its session. */
export type StreamEnd = "ended" | "dropped" | "closed" | "lost";

/**
 * One stream of a session: a `Conn` with a window, a half-close, and an abort that never waits. It reports
 * its end once. The subclass implements the protocol and limits how much the stream buffers.
 */
export abstract class MuxStream extends StreamedConn implements Conn {
  readonly peer: string;
  /** Makes `relay` read the stream with its own growing buffers, like a socket. */
  readonly isSocket = true;
  onAbort: ((reason: unknown) => void) | undefined = undefined;
  protected readonly inbox: Inbox;
  readonly #pieceSize: number;
  /** How many bytes the peer still accepts. */
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

  /** Sends a piece; a returned promise resolves when the caller may reuse the bytes. */
  protected abstract send(bytes: Bytes): Promise<void> | undefined;
  /** Sends the end of our direction to the peer. */
  protected abstract sendEnd(): Promise<void> | undefined;
  /** Called once, when the stream has ended; informs the peer unless it already knows. */
  protected abstract onOver(how: StreamEnd): void;
  /** Called after the reader consumed bytes. */
  protected abstract onTaken(count: number): void;

  /** Waits until the session accepts more; undefined if it accepts more already. Never rejects. */
  protected room(): Promise<void> | undefined {
    return undefined;
  }

  /** Called when both directions have ended. */
  protected onBothEnded(): void {
    this.#over("ended");
  }

  /** The number of bytes that wait for the reader. */
  get held(): number {
    return this.inbox.length;
  }

  /** Whether the stream still accepts data from the peer. */
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

  /** Like `write`, for bytes that need several pieces or must wait. */
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
          // The reason of an abort is more specific than the failure of the piece.
          throw this.#failure ?? error;
        }
      } else if (at < bytes.length) await this.#woken(room);
    } while (at < bytes.length);
  }

  /**
   * Like `#woken`, for a piece being sent. Only a failure ends the wait early, because the session still
   * reads the bytes.
   */
  #sent(sending: Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#failWriter = reject;
      sending.then(resolve, reject);
    });
  }

  /** Waits for room; an abort ends the wait, even with a blocked session. */
  #woken(room: Promise<void> | undefined): Promise<void> {
    return new Promise((resolve) => {
      this.#wakeWriter = resolve;
      room?.then(resolve);
    });
  }

  /** Whether our direction is open and nothing has failed. */
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
    // A stream that ended in both directions gets no error.
    if (!this.#isOver || this.inbox.length > 0) {
      this.#fail(closedHere, { dropsHeld: true });
      this.#over("dropped");
    }
    this.#failure ??= closedHere;
    return done;
  }

  onData(data: Bytes): void {
    if (this.takesData) this.inbox.put(data);
  }

  onWindow(amount: number): void {
    this.#credit += amount;
    this.#wake();
  }

  /** Handles the end of the peer's direction. */
  onEnd(): void {
    if (!this.takesData) return;
    this.inbox.end();
    if (this.#haveEnded) this.onBothEnded();
  }

  /** Handles the peer's close of both directions. */
  onClose(): void {
    if (this.takesData) this.inbox.end();
    this.#over("closed");
  }

  /** Handles a failure; earlier data can still be read. */
  onFailure(error: unknown): void {
    if (this.#isOver) return;
    if (!(this.inbox.hasEnded && this.#haveEnded)) this.#fail(error, { dropsHeld: false });
    this.#over("lost");
  }

  #fail(error: unknown, { dropsHeld }: { readonly dropsHeld: boolean }): void {
    this.#failure ??= error;
    if (dropsHeld) this.inbox.clear();
    // If the reader's direction has ended, it stays a normal end.
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
  return new PosternError("unreachable", `Cannot use ${peer}: the peer closed the connection`, {
    detail: "reset",
  });
}

const done: Promise<void> = Promise.resolve();
/** Created once: connections end often, and the stack is never shown. */
const dropped = new DOMException("The connection was dropped", "AbortError");
const closedHere = new PosternError("cancelled", "postern closed the connection");
