import type { Conn } from "../../src/core/mod.ts";
import { readableOf, writableOf } from "../../src/core/streams/streams.ts";

/**
 * Creates both ends of a connection in memory, with half-close and backpressure (`capacity` bytes in each
 * direction).
 */
export function memoryPair({ capacity = 64 * 1024, isSocket = false } = {}): [MemoryConn, MemoryConn] {
  const there = new Pipe(capacity);
  const back = new Pipe(capacity);
  return [
    new MemoryConn(back, there, "memory:a", isSocket),
    new MemoryConn(there, back, "memory:b", isSocket),
  ];
}

class Pipe {
  readonly chunks: Uint8Array<ArrayBuffer>[] = [];
  held = 0;
  ended = false;
  error: unknown;
  readonly capacity: number;
  #waiting: (() => void)[] = [];

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  changed(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  fail(error: unknown): void {
    this.error ??= error;
    this.wake();
  }
}

/** One end of a `memoryPair`. */
export class MemoryConn implements Conn {
  onAbort: ((reason: unknown) => void) | undefined = undefined;
  readonly peer: string;
  readonly isSocket: boolean;
  readonly #in: Pipe;
  readonly #out: Pipe;
  #readable: ReadableStream<Uint8Array<ArrayBuffer>> | undefined;
  #writable: WritableStream<Uint8Array<ArrayBuffer>> | undefined;
  #reason: unknown;
  /** Set once this end was disposed or aborted. */
  isClosed = false;

  constructor(input: Pipe, output: Pipe, peer: string, isSocket: boolean) {
    this.#in = input;
    this.#out = output;
    this.peer = peer;
    this.isSocket = isSocket;
  }

  async read(into: Uint8Array<ArrayBuffer>): Promise<number | null> {
    while (true) {
      if (this.#in.error !== undefined) throw this.#in.error;
      const chunk = this.#in.chunks[0];
      if (chunk) {
        const count = Math.min(into.length, chunk.length);
        into.set(chunk.subarray(0, count));
        if (count < chunk.length) this.#in.chunks[0] = chunk.subarray(count);
        else this.#in.chunks.shift();
        this.#in.held -= count;
        this.#in.wake();
        return count;
      }
      if (this.#in.ended) return null;
      await this.#in.changed();
    }
  }

  async write(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    // Not `slice`, which returns a view for a node Buffer.
    let left = new Uint8Array(bytes);
    while (left.length > 0) {
      if (this.isClosed) throw this.#reason;
      if (this.#out.error !== undefined) throw this.#out.error;
      if (this.#out.ended) throw new Error("Cannot write after the end");
      const room = this.#out.capacity - this.#out.held;
      if (room > 0) {
        const part = left.subarray(0, room);
        this.#out.chunks.push(part);
        this.#out.held += part.length;
        left = left.subarray(part.length);
        this.#out.wake();
      } else {
        await this.#out.changed();
      }
    }
  }

  closeWrite(): Promise<void> {
    this.#out.ended = true;
    this.#out.wake();
    return Promise.resolve();
  }

  abort(reason: unknown = new Error("aborted")): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#reason = reason;
    this.#in.fail(reason);
    this.#out.fail(new Error("The peer reset the connection"));
    this.onAbort?.(reason);
  }

  get readable(): ReadableStream<Uint8Array<ArrayBuffer>> {
    return this.#readable ??= readableOf(this);
  }

  get writable(): WritableStream<Uint8Array<ArrayBuffer>> {
    return this.#writable ??= writableOf(this);
  }

  [Symbol.asyncDispose](): Promise<void> {
    if (!this.isClosed) {
      this.isClosed = true;
      this.#reason = new Error("closed");
      this.#out.ended = true;
      this.#out.wake();
      this.#in.fail(this.#reason);
    }
    return Promise.resolve();
  }
}

/** Reads to the end. */
export async function readAll(conn: Conn): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  while (true) {
    const into = new Uint8Array(4096);
    const count = await conn.read(into);
    if (count === null) return new Uint8Array(await new Blob(chunks).arrayBuffer());
    chunks.push(into.subarray(0, count));
  }
}
