import type { Clock } from "../clock.ts";
import type { Conn, Tally } from "./conn.ts";
import { PosternError } from "../../words/mod.ts";
import { ReadRoom } from "./read_room.ts";

export interface RelayOptions {
  /** Not needed by who drops one of the two when it is over, if both can tell (`onAbort`): that ends the relay too. */
  readonly signal?: AbortSignal;
  readonly clock: Clock;
  readonly tally: Tally;
  /**
   * How long the target may go on answering, in ms, when the client has ended and the way cannot carry a half-close; and
   * how long one of the two is still read that takes nothing more.
   */
  readonly halfCloseLinger: number;
}

/** Why a relay ended. */
export interface RelayEnd {
  readonly outcome: "done" | "client_gone" | "target_gone" | "lingered" | "cancelled";
  readonly error?: unknown;
}

/**
 * Joins two connections until both directions have ended, and drops both.
 * Sockets are joined by a loop over buffers that grow with use, everything else by `pipeTo`.
 */
export function relay(client: Conn, target: Conn, options: RelayOptions): Promise<RelayEnd> {
  return new Joint(client, target, options).done;
}

/**
 * Thousands of these wait at the same time, so each direction is one suspended function and no more,
 * and whoever waits for the end holds a promise.
 */
class Joint {
  readonly done: Promise<RelayEnd>;
  readonly #client: Conn;
  readonly #target: Conn;
  readonly #options: RelayOptions;
  readonly #resolve: (end: RelayEnd) => void;
  #cancel: (() => void) | undefined;
  /** Directions that have not ended their part. */
  #moving = 2;
  /** Directions whose function has not returned. */
  #running = 2;
  #end: RelayEnd | undefined;
  /** That one of the two takes nothing more, while what it has said is still read. */
  #broken: RelayEnd | undefined;
  #linger: Disposable | undefined;

  constructor(client: Conn, target: Conn, options: RelayOptions) {
    const { promise, resolve } = Promise.withResolvers<RelayEnd>();
    this.done = promise;
    this.#resolve = resolve;
    this.#client = client;
    this.#target = target;
    this.#options = options;
    if (options.signal) this.#heed(options.signal);
    // Whichever is dropped, the read that waits at the other one must end.
    client.onAbort = (error) => this.#stop({ outcome: "client_gone", error });
    target.onAbort = (error) => this.#stop({ outcome: "target_gone", error });
    if (isByBuffers(client) && isByBuffers(target)) {
      this.#moveBuffers(client, target);
      this.#moveBuffers(target, client);
    } else {
      this.#pipe(client, target);
      this.#pipe(target, client);
    }
  }

  #heed(signal: AbortSignal): void {
    const cancel = () => this.#stop({ outcome: "cancelled", error: signal.reason });
    if (signal.aborted) cancel();
    else signal.addEventListener("abort", this.#cancel = cancel);
  }

  async #moveBuffers(from: Conn, to: Conn): Promise<void> {
    const room = new ReadRoom(from);
    let failing = from;
    try {
      while (true) {
        failing = from;
        const bytes = await room.read();
        if (bytes === null) break;
        failing = to;
        await to.write(bytes);
        this.#count(from, bytes.length);
      }
      room.free();
      failing = to;
      const closing = this.#passEnd(from, to);
      if (closing) await closing;
    } catch (error) {
      // A read that has failed is over; a write may still be reading what was given to it.
      if (failing === from || to.forgetsFailedWrites) room.free();
      this.#fail(failing, error, { isWriting: failing === to });
    }
    this.#returned();
  }

  /** The general form, for all that is no socket (docs/decisions/streams.md has the numbers). */
  async #pipe(from: Conn, to: Conn): Promise<void> {
    let failing = from;
    const counted = new WritableStream<Uint8Array<ArrayBuffer>>({
      write: async (bytes) => {
        failing = to;
        await to.write(bytes);
        failing = from;
        this.#count(from, bytes.length);
      },
      close: () => {
        failing = to;
        return this.#passEnd(from, to);
      },
    });
    try {
      // What cannot be passed on must not end `from`: the other direction may still write to it.
      await from.readable.pipeTo(counted, { preventCancel: true });
    } catch (error) {
      this.#fail(failing, error, { isWriting: failing === to });
    }
    this.#returned();
  }

  #count(from: Conn, bytes: number): void {
    const { tally } = this.#options;
    if (from === this.#client) tally.up += bytes;
    else tally.down += bytes;
  }

  /** Passes the end of one direction on; nothing to wait for when that is done by closing everything. */
  #passEnd(from: Conn, to: Conn): Promise<void> | undefined {
    // The second end closes both sides anyway.
    if (--this.#moving === 0 || this.#end || this.#broken) return undefined;
    // Who has no half-close has ended both ways: nobody there reads what the other one may still say.
    if (from.carriesHalfClose === false) this.#finish();
    else if (to.carriesHalfClose !== false) return to.closeWrite();
    else if (to === this.#target) this.#startLinger();
    // A client whose way has no half-close learns of the target's end by the end of everything.
    else this.#finish();
    return undefined;
  }

  #startLinger(): void {
    const { clock, halfCloseLinger } = this.#options;
    this.#linger = clock.after(halfCloseLinger, () => {
      this.#stop({
        outcome: "lingered",
        error: new PosternError("timeout", "The client had ended and the target went on without end"),
      });
    });
  }

  #finish(): void {
    this.#end ??= { outcome: "done" };
    this.#dispose();
  }

  /** Who takes nothing more may have said its last words before that, as a server that refuses an upload: they are read. */
  #fail(side: Conn, error: unknown, { isWriting }: { isWriting: boolean }): void {
    const end: RelayEnd = { outcome: side === this.#client ? "client_gone" : "target_gone", error };
    if (!isWriting || this.#running < 2 || this.#end) return this.#stop(end);
    this.#broken = end;
    const { clock, halfCloseLinger } = this.#options;
    this.#linger ??= clock.after(halfCloseLinger, () => this.#stop(end));
  }

  #stop(end: RelayEnd): void {
    if (this.#end) return;
    this.#end = this.#broken ?? end;
    const { error } = this.#end;
    this.#client.abort(error);
    this.#target.abort(error);
  }

  #returned(): void {
    if (--this.#running > 0) return;
    if (this.#cancel) this.#options.signal?.removeEventListener("abort", this.#cancel);
    this.#linger?.[Symbol.dispose]();
    this.#client.onAbort = this.#target.onAbort = undefined;
    this.#dispose().then(() => this.#resolve(this.#end ?? this.#broken ?? { outcome: "done" }));
  }

  /** Never fails: what cannot be closed is gone already. */
  async #dispose(): Promise<void> {
    await Promise.allSettled([this.#client[Symbol.asyncDispose](), this.#target[Symbol.asyncDispose]()]);
  }
}

function isByBuffers(conn: Conn): boolean {
  return conn.isSocket === true || conn.whenReadable !== undefined;
}
