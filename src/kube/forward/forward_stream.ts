import { MuxStream, type StreamEnd } from "../../mux/mod.ts";

/** What a stream needs from its session. */
export interface ForwardLink {
  /** Sends a copy of the data. */
  send(bytes: Uint8Array<ArrayBuffer>): void;
  /** Ends the stream's data. */
  sendEnd(): void;
  /** Ends the stream in both directions. */
  sendReset(): void;
  /** Undefined if the stream may send now; otherwise resolves when it may. Never rejects. */
  room(): Promise<void> | undefined;
  /** Called after the reader took bytes. */
  onTaken(): void;
  /** Called once when the stream is finished. */
  onOver(): void;
}

export interface ForwardStreamOptions {
  readonly peer: string;
  /** False if the protocol cannot end one direction only. */
  readonly carriesHalfClose?: boolean;
}

/** A connection to a pod inside a session. The session limits its buffer. */
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

  /** The number of bytes received so far. */
  get received(): number {
    return this.#received;
  }

  /** The number of bytes read so far. */
  get taken(): number {
    return this.#taken;
  }

  /** Whether the client has sent data and not received any since. */
  get isExpectant(): boolean {
    return this.#isExpectant;
  }

  /** Takes data of the pod; the buffer is reused after the call. */
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
 * The size of one frame; streams of a session take turns by frames. The server's workers count frames, not
 * bytes, so smaller frames would not fill a long path.
 */
const largestPart = 256 * 1024;
