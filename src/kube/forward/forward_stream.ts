import { MuxStream, type StreamEnd } from "../../mux/mod.ts";

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
export class ForwardStream extends MuxStream {
  readonly carriesHalfClose: boolean;
  readonly #link: ForwardLink;
  #received = 0;
  #taken = 0;
  #isExpectant = false;

  constructor(link: ForwardLink, { peer, carriesHalfClose = true }: ForwardStreamOptions) {
    super({ peer, pieceSize: largestPart });
    this.#link = link;
    this.carriesHalfClose = carriesHalfClose;
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

  /** Data of the pod: a view of a buffer that is used again. */
  override onData(data: Uint8Array<ArrayBuffer>): void {
    if (!this.takesData || data.length === 0) return;
    this.#received += data.length;
    this.#isExpectant = false;
    super.onData(data);
  }

  protected override send(bytes: Uint8Array<ArrayBuffer>): undefined {
    this.#isExpectant = true;
    this.#link.send(bytes);
  }

  protected override sendEnd(): undefined {
    this.#link.sendEnd();
  }

  protected override onOver(how: StreamEnd): void {
    if (how === "dropped") this.#link.sendReset();
    this.#link.onOver();
  }

  protected override room(): Promise<void> | undefined {
    return this.#link.room();
  }

  protected override onTaken(count: number): void {
    this.#taken += count;
    this.#link.onTaken();
  }
}

/**
 * One frame: the streams of a session take turns by frames. The server's workers count frames, not bytes: with smaller
 * ones a way that is long would be kept busy for a part of the time only.
 */
const largestPart = 256 * 1024;
