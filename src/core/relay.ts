import type { Clock } from "./clock.ts";
import type { Conn, Tally } from "./conn.ts";
import { PosternError } from "./errors.ts";

export interface RelayOptions {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly tally: Tally;
  /** How long the target may go on answering, in ms, when the client has ended and the way cannot carry a half-close. */
  readonly halfCloseLinger: number;
}

/** Why a relay ended. */
export interface RelayEnd {
  readonly outcome: "done" | "client_gone" | "target_gone" | "lingered" | "cancelled";
  readonly error?: unknown;
}

/**
 * Joins two connections until both directions have ended, and drops both.
 * Sockets are joined by a loop over buffers that grow with use, everything else by chunks.
 */
export async function relay(client: Conn, target: Conn, options: RelayOptions): Promise<RelayEnd> {
  const joint = new Joint(client, target, options);
  return await joint.run();
}

class Joint {
  readonly #client: Conn;
  readonly #target: Conn;
  readonly #options: RelayOptions;
  #open = 2;
  #end: RelayEnd | undefined;
  #linger: Disposable | undefined;

  constructor(client: Conn, target: Conn, options: RelayOptions) {
    this.#client = client;
    this.#target = target;
    this.#options = options;
  }

  async run(): Promise<RelayEnd> {
    const { signal, tally } = this.#options;
    const cancel = () => this.#stop({ outcome: "cancelled", error: signal.reason });
    if (signal.aborted) cancel();
    else signal.addEventListener("abort", cancel);
    const up = this.#move(this.#client, this.#target, (count) => tally.up += count);
    const down = this.#move(this.#target, this.#client, (count) => tally.down += count);
    await up;
    await down;
    signal.removeEventListener("abort", cancel);
    this.#linger?.[Symbol.dispose]();
    await this.#client[Symbol.asyncDispose]();
    await this.#target[Symbol.asyncDispose]();
    return this.#end ?? { outcome: "done" };
  }

  async #move(from: Conn, to: Conn, count: (bytes: number) => void): Promise<void> {
    const progress: Progress = { from, to, count, failed: to };
    try {
      await (from.isSocket && to.isSocket ? moveBuffers(progress) : moveChunks(progress));
    } catch (error) {
      this.#stop({ outcome: progress.failed === this.#client ? "client_gone" : "target_gone", error });
      return;
    }
    // The second end closes both sides anyway.
    if (--this.#open === 0 || this.#end) return;
    if (to.carriesHalfClose === false && to === this.#target) return this.#startLinger();
    try {
      // A client whose way has no half-close learns of the target's end by the end of everything.
      if (to.carriesHalfClose === false) await this.#finish();
      else await to.closeWrite();
    } catch (error) {
      this.#stop({ outcome: to === this.#client ? "client_gone" : "target_gone", error });
    }
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

  async #finish(): Promise<void> {
    this.#end ??= { outcome: "done" };
    await this.#client[Symbol.asyncDispose]();
    await this.#target[Symbol.asyncDispose]();
  }

  #stop(end: RelayEnd): void {
    if (this.#end) return;
    this.#end = end;
    this.#client.abort(end.error);
    this.#target.abort(end.error);
  }
}

interface Progress {
  readonly from: Conn;
  readonly to: Conn;
  readonly count: (bytes: number) => void;
  /** The side that a failure at this moment belongs to. */
  failed: Conn;
}

const smallest = 2 * 1024;
const largest = 256 * 1024;
/** Large buffers between two uses, so that a burst does not allocate. */
const spare: Uint8Array<ArrayBuffer>[] = [];
const mostSpare = 16;

/**
 * A read that waits must not hold a large buffer: after a read that was not filled (so the kernel is drained)
 * comes a small one, and when that is filled, a large one again at once.
 */
async function moveBuffers(progress: Progress): Promise<void> {
  const { from, to, count } = progress;
  const small = new Uint8Array(smallest);
  let size = smallest;
  let large: Uint8Array<ArrayBuffer> | undefined;
  let into = small;
  while (true) {
    progress.failed = from;
    const read = await from.read(into);
    if (read === null) break;
    progress.failed = to;
    const full = read === into.length;
    await to.write(full ? into : into.subarray(0, read));
    count(read);
    if (full) {
      if (into !== small || size === smallest) size = Math.min(size * 8, largest);
      if (large?.length !== size) {
        if (large) giveBack(large);
        large = takeLarge(size);
      }
      into = large;
    } else if (into !== small) {
      if (read < size >> 3) size = Math.max(size >> 3, smallest);
      if (large) giveBack(large);
      large = undefined;
      into = small;
    }
  }
  // Not after a failure: a call that was cut off may still hold the buffer.
  if (large) giveBack(large);
}

function takeLarge(size: number): Uint8Array<ArrayBuffer> {
  return (size === largest ? spare.pop() : undefined) ?? new Uint8Array(size);
}

function giveBack(buffer: Uint8Array<ArrayBuffer>): void {
  if (buffer.length === largest && spare.length < mostSpare) spare.push(buffer);
}

/** The general form: `readable.pipeTo(writable)` with a count between. */
async function moveChunks(progress: Progress): Promise<void> {
  const { from, to, count } = progress;
  const reader = from.readable.getReader();
  try {
    while (true) {
      progress.failed = from;
      const { done, value } = await reader.read();
      if (done) return;
      progress.failed = to;
      await to.write(value);
      count(value.length);
    }
  } finally {
    reader.releaseLock();
  }
}
