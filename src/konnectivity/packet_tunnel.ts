import { type Bytes, type Clock, type Conn, Inbox, limitTime, StreamedConn } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";
import type { PacketStream } from "./packet_stream.ts";

/** What a tunnel needs of whoever keeps the tunnels of a stream. */
export interface TunnelHost {
  readonly stream: PacketStream;
  readonly clock: Clock;
  /** Who asked for the connection says that it should be closed, who made it says that it is. */
  readonly side: "dialing" | "answering";
  /** Whether other tunnels wait when this one is not read. */
  readonly isShared: boolean;
  forget(tunnel: PacketTunnel): void;
}

/** One connection among the packets of a stream. Between two posterns it has a window and a half-close of its own. */
export class PacketTunnel extends StreamedConn implements Conn {
  onAbort: ((reason: unknown) => void) | undefined = undefined;
  /** Called once when it is closed both ways, by whichever side. */
  onClosed: (() => void) | undefined = undefined;
  readonly isSocket = true;
  readonly peer: string;
  readonly connectId: bigint;
  readonly #host: TunnelHost;
  readonly #inbox = new Inbox((count) => this.#used(count));
  /** Bytes that were read and not yet told to a peer that keeps to a window. */
  #untold = 0;
  #mayRead: (() => void) | undefined;
  #credit = windowSize;
  #mayWrite: (() => void) | undefined;
  /** Fails the write whose packet waits for the stream. */
  #failWrite: ((why: unknown) => void) | undefined;
  #stall: Disposable | undefined;
  /** Whether nobody is behind the stream any more, so that nobody else gives up on a reader that takes nothing. */
  #isLeft = false;
  #peerClosed = false;
  #isClosed = false;
  #failure: unknown;

  constructor(connectId: bigint, host: TunnelHost, peer: string) {
    super();
    this.connectId = connectId;
    this.#host = host;
    this.peer = peer;
  }

  /** Also false once the peer has closed it both ways: then its end is no half-close. */
  get carriesHalfClose(): boolean {
    return this.#host.stream.isPostern && !this.#peerClosed;
  }

  read(into: Bytes): Promise<number | null> {
    return this.#inbox.read(into);
  }

  whenReadable(): Promise<void> {
    return this.#inbox.whenReadable();
  }

  async write(bytes: Bytes): Promise<void> {
    const { stream } = this.#host;
    for (let at = 0; at < bytes.length;) {
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#peerClosed || this.#isClosed) throw gone(this.peer);
      if (this.#credit === 0) {
        await new Promise<void>((resolve) => this.#mayWrite = resolve);
        continue;
      }
      const data = bytes.subarray(at, at + Math.min(pieceSize, this.#credit));
      at += data.length;
      if (stream.isPostern) this.#credit -= data.length;
      try {
        await this.#sent(stream.send({ type: "data", connectId: this.connectId, error: "", data }));
      } catch (error) {
        throw this.#failure ?? error;
      }
    }
  }

  /** An abort does not wait for a stream that stands still. */
  #sent(sending: Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#failWrite = reject;
      sending.then(resolve, reject);
    });
  }

  async closeWrite(): Promise<void> {
    if (!this.carriesHalfClose || this.#isClosed || this.#peerClosed) return;
    await this.#host.stream.send({ type: "end", connectId: this.connectId });
  }

  abort(reason: unknown = new DOMException("The connection was dropped", "AbortError")): void {
    this.#failure ??= reason;
    this.#inbox.fail(this.#failure);
    const { stream, side, isShared } = this.#host;
    const isStuck = stream.isSending;
    this.#close();
    // Behind what the other side may never take, nobody hears that: a stream of this one connection ends at once.
    if (isStuck && side === "dialing" && !isShared) stream.grpc.exchange.reset(this.#failure);
    this.#inbox.clear();
    const tell = this.onAbort;
    this.onAbort = undefined;
    tell?.(reason);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#close();
    return Promise.resolve();
  }

  // What the stream brings.

  /** Keeps the data for the reader. Where many share the stream without windows, it may take until there is room. */
  takeData(bytes: Bytes): void | Promise<void> {
    if (this.#isClosed || this.#inbox.hasEnded) return;
    this.#inbox.put(bytes);
    const { isPostern } = this.#host.stream;
    if (this.#inbox.length <= (isPostern ? 2 * windowSize : this.#mostKept)) return;
    if (isPostern) {
      return this.abort(new PosternError("protocol", `${this.peer} sends more than its window has`));
    }
    return this.#waitForReader();
  }

  takeWindow(bytes: number): void {
    this.#credit = Math.min(this.#credit + Math.max(0, bytes), 2 ** 31);
    this.#wakeWriter();
  }

  /** The peer says no more. */
  takeEnd(): void {
    this.#inbox.end();
  }

  /** The peer has closed it both ways. */
  takeClose(error: string): void {
    this.#peerClosed = true;
    if (error !== "") {
      this.#failure ??= new PosternError("unreachable", `${this.peer} broke off: ${error.slice(0, 200)}`, {
        detail: "reset",
      });
      this.#inbox.fail(this.#failure);
    } else this.takeEnd();
    this.#wakeWriter();
    this.#forget();
  }

  /** Nobody is behind the stream any more, though it has more to read. */
  takeLeave(): void {
    this.#isLeft = true;
    if (this.#mayRead) this.#watchReader();
  }

  /** The stream is no more. */
  takeFailure(why: unknown): void {
    this.#peerClosed = true;
    this.#failure ??= why;
    this.#inbox.fail(why);
    this.#wakeWriter();
    this.#mayRead?.();
    this.#forget();
    const tell = this.onAbort;
    this.onAbort = undefined;
    tell?.(why);
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#inbox.failWith(() => this.#failure ?? gone(this.peer));
    this.#wakeWriter();
    this.#failWrite?.(this.#failure ?? gone(this.peer));
    this.#mayRead?.();
    if (this.#peerClosed) return;
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

  #wakeWriter(): void {
    const wake = this.#mayWrite;
    this.#mayWrite = undefined;
    wake?.();
  }

  #used(count: number): void {
    const { stream } = this.#host;
    if (!stream.isPostern) {
      if (this.#mayRead && this.#inbox.length <= this.#mostKept / 2) this.#mayRead();
      else if (this.#mayRead) this.#watchReader();
      return;
    }
    this.#untold += count;
    if (this.#untold < windowSize / 2 || this.#isClosed || this.#peerClosed) return;
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

function gone(peer: string): PosternError {
  return new PosternError("unreachable", `The connection through ${peer} was closed`, { detail: "reset" });
}

/** How much may be on its way for one connection between two posterns. */
const windowSize = 1 << 20;
/** How long, in ms, a reader may take nothing of what is kept while a stream waits for it. */
const stallLimit = 1000;
/** And how long where nobody waits for it but what a client has sent before it left. */
const leftLimit = 30_000;
/** The data of one packet; others refuse more than 4 MiB. */
const pieceSize = 64 * 1024;
