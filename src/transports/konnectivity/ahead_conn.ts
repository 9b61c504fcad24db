import { type Conn, StreamedConn } from "../../core/mod.ts";

/** A connection of which some bytes came earlier, by another way. */
export class AheadConn extends StreamedConn implements Conn {
  readonly peer: string;
  readonly local?: string;
  readonly carriesHalfClose: boolean;
  readonly #conn: Conn;
  #ahead: Uint8Array<ArrayBuffer>;

  constructor(conn: Conn, ahead: Uint8Array<ArrayBuffer>) {
    super();
    this.#conn = conn;
    this.#ahead = ahead;
    this.peer = conn.peer;
    if (conn.local !== undefined) this.local = conn.local;
    this.carriesHalfClose = conn.carriesHalfClose !== false;
  }

  get onAbort(): ((reason: unknown) => void) | undefined {
    return this.#conn.onAbort;
  }

  set onAbort(tell: ((reason: unknown) => void) | undefined) {
    this.#conn.onAbort = tell;
  }

  read(into: Uint8Array<ArrayBuffer>): Promise<number | null> {
    if (this.#ahead.length === 0) return this.#conn.read(into);
    const part = this.#ahead.subarray(0, into.length);
    into.set(part);
    this.#ahead = this.#ahead.subarray(part.length);
    return Promise.resolve(part.length);
  }

  write(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    return this.#conn.write(bytes);
  }

  closeWrite(): Promise<void> {
    return this.#conn.closeWrite();
  }

  abort(reason?: unknown): void {
    this.#ahead = new Uint8Array(0);
    this.#conn.abort(reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#conn[Symbol.asyncDispose]();
  }
}
