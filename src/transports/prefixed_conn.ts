import { type Conn, readableOf, writableOf } from "../core/mod.ts";

/** A connection of which the first bytes were read already: they are read again, then it goes on. */
export class PrefixedConn implements Conn {
  readonly peer: string;
  readonly local?: string;
  readonly isSocket: boolean;
  readonly carriesHalfClose: boolean;
  readonly #conn: Conn;
  #early: Uint8Array<ArrayBuffer>;
  #isAborted = false;
  #readable: ReadableStream<Uint8Array<ArrayBuffer>> | undefined;
  #writable: WritableStream<Uint8Array<ArrayBuffer>> | undefined;

  constructor(conn: Conn, early: Uint8Array<ArrayBuffer>) {
    this.#conn = conn;
    this.#early = early;
    this.peer = conn.peer;
    if (conn.local !== undefined) this.local = conn.local;
    this.isSocket = conn.isSocket === true;
    this.carriesHalfClose = conn.carriesHalfClose !== false;
  }

  get onAbort(): ((reason: unknown) => void) | undefined {
    return this.#conn.onAbort;
  }

  set onAbort(tell: ((reason: unknown) => void) | undefined) {
    this.#conn.onAbort = tell;
  }

  read(into: Uint8Array<ArrayBuffer>): Promise<number | null> {
    if (this.#early.length === 0 || this.#isAborted) return this.#conn.read(into);
    const part = this.#early.subarray(0, into.length);
    into.set(part);
    this.#early = this.#early.subarray(part.length);
    return Promise.resolve(part.length);
  }

  write(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    return this.#conn.write(bytes);
  }

  closeWrite(): Promise<void> {
    return this.#conn.closeWrite();
  }

  abort(reason?: unknown): void {
    this.#isAborted = true;
    this.#conn.abort(reason);
  }

  get readable(): ReadableStream<Uint8Array<ArrayBuffer>> {
    return this.#readable ??= readableOf(this);
  }

  get writable(): WritableStream<Uint8Array<ArrayBuffer>> {
    return this.#writable ??= writableOf(this);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isAborted = true;
    await this.#conn[Symbol.asyncDispose]();
  }
}
