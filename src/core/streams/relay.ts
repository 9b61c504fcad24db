import type { Clock } from "../clock.ts";
import type { Conn, Tally } from "./conn.ts";
import { PosternError } from "../../words/mod.ts";
import { ReadRoom } from "./read_room.ts";

export interface RelayOptions {
  /** Optional if the caller drops one connection to end the relay and both have `onAbort`. */
  readonly signal?: AbortSignal;
  readonly clock: Clock;
  readonly tally: Tally;
  /**
   * A timeout in ms for two cases: the target keeps sending after the client's end on a path without half-close,
   * or one side accepts no more data but is still read.
   */
  readonly halfCloseLinger: number;
}

/** Why a relay ended. */
export interface RelayEnd {
  readonly outcome: "done" | "client_gone" | "target_gone" | "lingered" | "cancelled";
  readonly error?: unknown;
}

/**
 * Joins two connections until both directions have ended, then drops both. Joins sockets with a loop over
 * buffers that grow with use, everything else with `pipeTo`.
 */
export function relay(client: Conn, target: Conn, options: RelayOptions): Promise<RelayEnd> {
  return new Joint(client, target, options).done;
}

/**
 * Thousands of these wait at the same time. So each direction is only one suspended function, and a waiting
 * caller holds one promise.
 */
class Joint {
  readonly done: Promise<RelayEnd>;
  readonly #client: Conn;
  readonly #target: Conn;
  readonly #options: RelayOptions;
  readonly #resolve: (end: RelayEnd) => void;
  #cancel: (() => void) | undefined;
  /** Directions that have not ended. */
  #moving = 2;
  /** Directions whose function is still running. */
  #running = 2;
  #end: RelayEnd | undefined;
  /** Set when one side accepts no more data, but its own data is still read. */
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
    // When either connection is dropped, the pending read of the other must end.
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
      // A failed read is finished, but a failed write may still use its buffer.
      if (failing === from || to.forgetsFailedWrites) room.free();
      this.#fail(failing, error, { isWriting: failing === to });
    }
    this.#returned();
  }

  /** The general form, for everything but sockets (docs/decisions/streams.md has the measurements). */
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
      // A failed write must not end `from`: the other direction may still write to it.
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

  /** Passes the end of one direction on; undefined if closing everything does that. */
  #passEnd(from: Conn, to: Conn): Promise<void> | undefined {
    // After the second end, both sides are closed anyway.
    if (--this.#moving === 0 || this.#end || this.#broken) return undefined;
    // A side without half-close has ended both directions: it does not read the other side's data.
    if (from.carriesHalfClose === false) this.#finish();
    else if (to.carriesHalfClose !== false) return to.closeWrite();
    else if (to === this.#target) this.#startLinger();
    // A client without half-close sees the target's end only when everything ends.
    else this.#finish();
    return undefined;
  }

  #startLinger(): void {
    const { clock, halfCloseLinger } = this.#options;
    this.#linger = clock.after(halfCloseLinger, () => {
      this.#stop({
        outcome: "lingered",
        error: new PosternError("timeout", "The client closed its side, and the target kept sending"),
      });
    });
  }

  #finish(): void {
    this.#end ??= { outcome: "done" };
    this.#dispose();
  }

  /**
   * Keeps reading from a side that accepts no more data: it may have sent a last message, like a server that
   * rejects an upload.
   */
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

  /** Never rejects: a connection that cannot be closed is gone already. */
  async #dispose(): Promise<void> {
    await Promise.allSettled([this.#client[Symbol.asyncDispose](), this.#target[Symbol.asyncDispose]()]);
  }
}

function isByBuffers(conn: Conn): boolean {
  return conn.isSocket === true || conn.whenReadable !== undefined;
}
