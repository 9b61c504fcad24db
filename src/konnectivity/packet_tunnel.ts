import { type Bytes, type Clock, limitTime } from "../core/mod.ts";
import { MuxStream, type StreamEnd } from "../mux/mod.ts";
import { PosternError } from "../words/mod.ts";
import type { PacketStream } from "./packet_stream.ts";

/** What a tunnel needs of whoever keeps the tunnels of a stream. */
export interface TunnelHost {
  readonly stream: Pick<PacketStream, "isPostern" | "isSending" | "reset" | "send">;
  readonly clock: Clock;
  /** Who asked for the connection says that it should be closed, who made it says that it is. */
  readonly side: "dialing" | "answering";
  /** Whether other tunnels wait when this one is not read. */
  readonly isShared: boolean;
  forget(tunnel: PacketTunnel): void;
}

/** One connection among the packets of a stream. Between two posterns it has a window and a half-close of its own. */
export class PacketTunnel extends MuxStream {
  /** Called once when it is closed both ways, by whichever side. */
  onClosed: (() => void) | undefined = undefined;
  readonly connectId: bigint;
  readonly #host: TunnelHost;
  /** Bytes that were read and not yet told to a peer that keeps to a window. */
  #untold = 0;
  #mayRead: (() => void) | undefined;
  #stall: Disposable | undefined;
  /** Whether nobody is behind the stream any more, so that nobody else gives up on a reader that takes nothing. */
  #isLeft = false;
  #peerClosed = false;

  constructor(connectId: bigint, host: TunnelHost, peer: string) {
    super({ peer, pieceSize, window: windowSize });
    this.connectId = connectId;
    this.#host = host;
  }

  /** Also false once the peer has closed it both ways: then its end is no half-close. */
  get carriesHalfClose(): boolean {
    return this.#host.stream.isPostern && !this.#peerClosed;
  }

  whenReadable(): Promise<void> {
    return this.inbox.whenReadable();
  }

  /** A packet may wait for others of its stream. */
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
    // Behind what the other side may never take, nobody hears that: a stream of this one connection ends at once.
    if (isStuck && side === "dialing" && !isShared) stream.reset(this.failure);
  }

  /** Keeps the data for the reader. Where many share the stream without windows, it may take until there is room. */
  takeData(bytes: Bytes): void | Promise<void> {
    if (!this.takesData) return;
    this.onData(bytes);
    const { isPostern } = this.#host.stream;
    if (this.held <= (isPostern ? 2 * windowSize : this.#mostKept)) return;
    if (isPostern) {
      return this.abort(new PosternError("protocol", `${this.peer} sends more than its window has`));
    }
    return this.#waitForReader();
  }

  /** A peer may only take more, never less. */
  override onWindow(amount: number): void {
    super.onWindow(Math.max(0, amount));
  }

  /** The peer has closed it both ways. */
  takeClose(error: string): void {
    this.#peerClosed = true;
    if (this.isOver) return this.#forget();
    if (error === "") return this.onClose();
    const said = `${this.peer} broke off: ${error.slice(0, 200)}`;
    this.onFailure(new PosternError("unreachable", said, { detail: "reset" }));
  }

  /** Nobody is behind the stream any more, though it has more to read. */
  takeLeave(): void {
    this.#isLeft = true;
    if (this.#mayRead) this.#watchReader();
  }

  /** The stream is no more. */
  takeFailure(why: unknown): void {
    this.#peerClosed = true;
    if (this.isOver) return this.#forget();
    this.onFailure(why);
    this.tellAbort(why);
  }

  protected override send(data: Bytes): Promise<void> {
    const { stream } = this.#host;
    // Others know no windows: what is sent never counts.
    if (!stream.isPostern) this.onWindow(data.length);
    return stream.send({ type: "data", connectId: this.connectId, error: "", data });
  }

  protected override sendEnd(): Promise<void> {
    return this.#host.stream.send({ type: "end", connectId: this.connectId });
  }

  /** It counts as a connection until its owner has read all and closes it: an agent that drains waits for that. */
  protected override onBothEnded(): void {}

  protected override onOver(how: StreamEnd): void {
    this.#mayRead?.();
    if (how !== "dropped") return this.#forget();
    const { stream, side } = this.#host;
    const { connectId } = this;
    const type = side === "dialing" ? "closeRequest" : "closeResponse";
    // A stream that is gone has told everybody already.
    const told = stream.send({ type, connectId, error: "" }).catch(() => {});
    // Whoever ends the stream then has said this before.
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

  /** The peer knows no windows, so all its tunnels wait with this one; a reader that takes nothing at all is dropped. */
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

  /** How much is kept of what a sender without windows sends. */
  get #mostKept(): number {
    return this.#host.isShared ? 8 << 20 : 256 << 10;
  }

  #watchReader(): void {
    const { isShared, clock } = this.#host;
    if (!isShared && !this.#isLeft) return;
    const [ms, when] = isShared ? [stallLimit, "while others wait"] : [leftLimit, "and its client has left"];
    this.#stall?.[Symbol.dispose]();
    this.#stall = limitTime(clock, ms, () => {
      this.abort(new PosternError("timeout", `Its reader takes nothing ${when}`, { detail: "reset" }));
    });
  }
}

/** How much may be on its way for one connection between two posterns. */
const windowSize = 1 << 20;
/** How long, in ms, a reader may take nothing of what is kept while a stream waits for it. */
const stallLimit = 1000;
/** And how long where nobody waits for it but what a client has sent before it left. */
const leftLimit = 30_000;
/** The data of one packet; others refuse more than 4 MiB. */
const pieceSize = 64 * 1024;
