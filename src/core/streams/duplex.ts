import type { Duplex } from "node:stream";
import type { Conn } from "./conn.ts";
import { StreamedConn } from "./streamed_conn.ts";

export interface DuplexOptions {
  /** Awaited before each read, for a reader that reads more than it has room for. */
  readonly mayRead?: () => Promise<void> | undefined;
}

/** Wraps a connection as a node Duplex, for libraries that need one. Its end is the half-close. */
export async function duplex(conn: Conn, { mayRead }: DuplexOptions = {}): Promise<Duplex> {
  const { Duplex } = await import("node:stream");
  const readInto = async (into: Uint8Array<ArrayBuffer>) => {
    await mayRead?.();
    return await conn.read(into);
  };
  return new Duplex({
    allowHalfOpen: true,
    read() {
      const into = new Uint8Array(32 * 1024);
      readInto(into).then(
        (count) => this.push(count === null ? null : into.subarray(0, count)),
        (error) => this.destroy(asError(error)),
      );
    },
    write({ buffer, byteOffset, byteLength }: Uint8Array<ArrayBuffer>, _encoding, done) {
      // A plain Uint8Array: `slice` of a node Buffer returns a view instead of a copy.
      conn.write(new Uint8Array(buffer, byteOffset, byteLength)).then(
        () => done(),
        (error) => done(asError(error)),
      );
    },
    final(done) {
      conn.closeWrite().then(() => done(), (error) => done(asError(error)));
    },
    destroy(error, done) {
      if (error) conn.abort(error);
      conn[Symbol.asyncDispose]().then(() => done(error), () => done(error));
    },
  });
}

export interface DuplexConnOptions {
  readonly peer: string;
  readonly local?: string;
  readonly carriesHalfClose?: boolean;
  /** Translates the stream's errors into ours. */
  readonly failure?: (error: unknown) => unknown;
  /** Called after bytes were read from the stream, so that it has room again. */
  readonly onTaken?: () => void;
  /** False when a subclass reads the stream itself. */
  readonly isRead?: boolean;
}

/** Wraps a node Duplex (a TLS socket, a channel) as a connection. */
export class DuplexConn extends StreamedConn implements Conn {
  onAbort: ((reason: unknown) => void) | undefined = undefined;
  readonly peer: string;
  readonly local?: string;
  readonly carriesHalfClose?: boolean;
  readonly #stream: Duplex;
  readonly #failure: (error: unknown) => unknown;
  readonly #onTaken: (() => void) | undefined;
  #chunk: Uint8Array<ArrayBuffer> | undefined;
  #ended = false;
  #isAborted = false;
  #error: unknown;
  #wake: (() => void) | undefined;
  /** Rejects the calls that wait for the stream. */
  readonly #pending = new Set<() => void>();

  constructor(
    stream: Duplex,
    { peer, local, carriesHalfClose, failure = (error) => error, onTaken, isRead = true }: DuplexConnOptions,
  ) {
    super();
    this.#stream = stream;
    this.peer = peer;
    if (local !== undefined) this.local = local;
    if (carriesHalfClose !== undefined) this.carriesHalfClose = carriesHalfClose;
    this.#failure = failure;
    this.#onTaken = onTaken;
    const wake = () => this.#wake?.();
    if (isRead) stream.on("readable", wake);
    stream.on("end", () => {
      this.#ended = true;
      wake();
    });
    stream.on("error", (error) => {
      this.#error ??= this.#failure(error);
      wake();
    });
    stream.on("close", () => {
      if (!this.#ended) this.#error ??= new Error("The connection was closed");
      this.#failPending();
    });
  }

  protected get isAborted(): boolean {
    return this.#isAborted;
  }

  /** Why reads and writes fail. */
  protected get error(): unknown {
    return this.#error;
  }

  async read(into: Uint8Array<ArrayBuffer>): Promise<number | null> {
    while (true) {
      if (this.#isAborted) throw this.#error;
      const chunk = this.#chunk ?? this.#stream.read() as Uint8Array<ArrayBuffer> | null;
      if (chunk && chunk.length > 0) {
        const count = Math.min(into.length, chunk.length);
        into.set(chunk.subarray(0, count));
        this.#chunk = count < chunk.length ? chunk.subarray(count) : undefined;
        this.#onTaken?.();
        return count;
      }
      if (this.#ended) return null;
      if (this.#error !== undefined) throw this.#error;
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }

  write(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    if (this.#error !== undefined) return Promise.reject(this.#error);
    return this.#settle((done) => this.#stream.write(bytes, done));
  }

  closeWrite(): Promise<void> {
    if (this.#stream.writableEnded || this.#stream.destroyed) return Promise.resolve();
    return this.#settle((done) => this.#stream.end(done));
  }

  abort(reason?: unknown): void {
    if (this.#isAborted) return;
    this.drop(reason ?? new DOMException("The connection was dropped", "AbortError"));
    this.onAbort?.(this.#error);
  }

  /**
   * Like `abort`, but without the callback. Pending calls reject immediately: some streams never report their
   * close.
   */
  protected drop(reason: unknown): void {
    if (this.#isAborted) return;
    this.#isAborted = true;
    this.#error = reason;
    this.#stream.destroy();
    this.#failPending();
  }

  [Symbol.asyncDispose](): Promise<void> {
    if (this.#stream.closed) return Promise.resolve();
    return new Promise((resolve) => {
      this.#stream.once("close", () => resolve());
      this.#stream.destroy();
    });
  }

  #failPending(): void {
    this.#wake?.();
    for (const fail of this.#pending) fail();
  }

  /**
   * Runs a call with a node callback; after a destroy, the callback may never come, so the close settles the
   * call.
   */
  #settle(start: (done: (error?: Error | null) => void) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const fail = () => finish(this.#error ?? new Error("The connection was closed"));
      const finish = (error?: unknown) => {
        this.#pending.delete(fail);
        if (error === undefined || error === null) resolve();
        else reject(this.#error ?? this.#failure(error));
      };
      this.#pending.add(fail);
      start(finish);
    });
  }
}

/** Returns a thrown value as an error. */
export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
