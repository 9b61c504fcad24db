import type { Conn } from "./conn.ts";
import type { Messages } from "./messages.ts";
import { StreamedConn } from "./streamed_conn.ts";

/**
 * A connection after `Messages`: first the bytes that `Messages` has read but not used, or is reading, then
 * the rest.
 */
export class ContinuedConn extends StreamedConn implements Conn {
  readonly peer: string;
  readonly local?: string;
  readonly isSocket: boolean;
  readonly carriesHalfClose: boolean;
  readonly #conn: Conn;
  /** Set until all its bytes are read. */
  #early: Messages | undefined;

  constructor(conn: Conn, early: Messages) {
    super();
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
    return this.#early ? this.#readEarly(this.#early, into) : this.#conn.read(into);
  }

  async #readEarly(early: Messages, into: Uint8Array<ArrayBuffer>): Promise<number | null> {
    if (early.pending.length === 0 && !await early.fill()) return null;
    const part = early.take(into.length);
    into.set(part);
    // The bytes of a running read also arrive in `early`.
    if (early.pending.length === 0 && !early.isReading) this.#early = undefined;
    return part.length;
  }

  write(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    return this.#conn.write(bytes);
  }

  closeWrite(): Promise<void> {
    return this.#conn.closeWrite();
  }

  abort(reason?: unknown): void {
    this.#early = undefined;
    this.#conn.abort(reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#early = undefined;
    await this.#conn[Symbol.asyncDispose]();
  }
}
