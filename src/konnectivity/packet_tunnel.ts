import { type Bytes, type Clock, limitTime } from "../core/mod.ts";
import { MuxStream, type StreamEnd } from "../mux/mod.ts";
import { PosternError } from "../words/mod.ts";
import type { PacketStream } from "./packet_stream.ts";

/** The owner of a stream's tunnels, as seen by a tunnel. */
export interface TunnelHost {
  readonly stream: Pick<PacketStream, "isPostern" | "isSending" | "reset" | "send">;
  readonly clock: Clock;
  /** The dialing side sends close requests, the answering side close responses. */
  readonly side: "dialing" | "answering";
  /** Whether an unread tunnel blocks others. */
  readonly isShared: boolean;
  forget(tunnel: PacketTunnel): void;
}

/** One connection on a packet stream. Between two posterns it has its own window and half-close. */
export class PacketTunnel extends MuxStream {
  /** Called once when both directions are closed, by either side. */
  onClosed: (() => void) | undefined = undefined;
  readonly connectId: bigint;
  readonly #host: TunnelHost;
  /** Bytes read but not yet credited to the peer's window. */
  #untold = 0;
  #mayRead: (() => void) | undefined;
  #stall: Disposable | undefined;
  /** Whether the peer has gone, so that only this tunnel can drop a stalled reader. */
  #isLeft = false;
  #peerClosed = false;

  constructor(connectId: bigint, host: TunnelHost, peer: string) {
    super({ peer, pieceSize, window: windowSize });
    this.connectId = connectId;
    this.#host = host;
  }

  /** False after the peer closed both directions: its end is then no half-close. */
  get carriesHalfClose(): boolean {
    return this.#host.stream.isPostern && !this.#peerClosed;
  }

  whenReadable(): Promise<void> {
    return this.inbox.whenReadable();
  }

  /** Writes in pieces, because a packet may wait for others on its stream. */
  override write(bytes: Bytes): Promise<void> {
    return this.writeInPieces(bytes);
  }

  override closeWrite(): Promise<void> {
    return this.carriesHalfClose ? super.closeWrite() : Promise.resolve();
  }

  override abort(reason?: unknown): void {
    const { stream, side, isShared } = this.#host;
    const isStuck = stream.isSending;
    super.abort(reason);
    // A close packet would wait behind unread data, so reset a stream that carries only this connection.
    if (isStuck && side === "dialing" && !isShared) stream.reset(this.failure);
  }

  /** Buffers data for the reader. On a stream without windows, the promise resolves when there is room. */
  takeData(bytes: Bytes): void | Promise<void> {
    if (!this.takesData) return;
    this.onData(bytes);
    const { isPostern } = this.#host.stream;
    if (this.held <= (isPostern ? 2 * windowSize : this.#mostKept)) return;
    if (isPostern) {
      return this.abort(new PosternError("protocol", `${this.peer} exceeded its flow-control window`));
    }
    return this.#waitForReader();
  }

  /** A peer may only enlarge its window. */
  override onWindow(amount: number): void {
    super.onWindow(Math.max(0, amount));
  }

  /** Handles the peer's close of both directions. */
  takeClose(error: string): void {
    this.#peerClosed = true;
    if (this.isOver) return this.#forget();
    if (error === "") return this.onClose();
    const said = `${this.peer} closed the connection: ${error.slice(0, 200)}`;
    this.onFailure(new PosternError("unreachable", said, { detail: "reset" }));
  }

  /** Handles the end of the peer while unread data remain. */
  takeLeave(): void {
    this.#isLeft = true;
    if (this.#mayRead) this.#watchReader();
  }

  /** Handles the end of the stream. */
  takeFailure(why: unknown): void {
    this.#peerClosed = true;
    if (this.isOver) return this.#forget();
    this.onFailure(why);
    this.tellAbort(why);
  }

  protected override send(data: Bytes): Promise<void> {
    const { stream } = this.#host;
    // Without windows, sent data must not count.
    if (!stream.isPostern) this.onWindow(data.length);
    return stream.send({ type: "data", connectId: this.connectId, error: "", data });
  }

  protected override sendEnd(): Promise<void> {
    return this.#host.stream.send({ type: "end", connectId: this.connectId });
  }

  /**
   * Keeps the connection until its owner has read everything and closes it: a draining agent waits for that.
   */
  protected override onBothEnded(): void {}

  protected override onOver(how: StreamEnd): void {
    this.#mayRead?.();
    if (how !== "dropped") return this.#forget();
    const { stream, side } = this.#host;
    const { connectId } = this;
    const type = side === "dialing" ? "closeRequest" : "closeResponse";
    // If the send fails, the end of the stream has informed all tunnels.
    const told = stream.send({ type, connectId, error: "" }).catch(() => {});
    // Forget the tunnel only after the close packet, so that it precedes the end of the stream.
    told.then(() => this.#forget());
  }

  #forget(): void {
    this.#host.forget(this);
    const tell = this.onClosed;
    this.onClosed = undefined;
    tell?.();
  }

  protected override onTaken(count: number): void {
    const { stream } = this.#host;
    if (!stream.isPostern) {
      if (this.#mayRead && this.held <= this.#mostKept / 2) this.#mayRead();
      else if (this.#mayRead) this.#watchReader();
      return;
    }
    this.#untold += count;
    if (this.#untold < windowSize / 2 || this.isOver) return;
    const bytes = this.#untold;
    this.#untold = 0;
    stream.send({ type: "window", connectId: this.connectId, bytes }).catch(() => {});
  }

  /** Pauses the stream, because the peer has no windows. Drops a reader that stops reading. */
  #waitForReader(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#mayRead = () => {
      this.#mayRead = undefined;
      this.#stall?.[Symbol.dispose]();
      resolve();
    };
    this.#watchReader();
    return promise;
  }

  /** The buffer limit for a peer without windows. */
  get #mostKept(): number {
    return this.#host.isShared ? 8 << 20 : 256 << 10;
  }

  #watchReader(): void {
    const { isShared, clock } = this.#host;
    if (!isShared && !this.#isLeft) return;
    const [ms, when] = isShared
      ? [stallLimit, "while other connections wait"]
      : [leftLimit, "after its client has left"];
    this.#stall?.[Symbol.dispose]();
    this.#stall = limitTime(clock, ms, () => {
      this.abort(new PosternError("timeout", `The reader stalled ${when}`, { detail: "reset" }));
    });
  }
}

/** The window of one connection between two posterns. */
const windowSize = 1 << 20;
/** In ms: how long a reader may stall while the stream waits for it. */
const stallLimit = 1000;
/** In ms: the same limit after the client has left and only buffered data remain. */
const leftLimit = 30_000;
/** The data of one packet; other implementations reject more than 4 MiB. */
const pieceSize = 64 * 1024;
