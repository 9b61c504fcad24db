import { type Conn, StreamedConn, unlessAborted } from "../../core/mod.ts";

export interface RetriedConnOptions {
  readonly first: Conn;
  /** Opens the next connection to the same target after `error`; undefined if there is none. */
  readonly next: (error: unknown, options: { readonly signal: AbortSignal }) => Promise<Conn | undefined>;
  /** How many bytes of the client are kept for a retry; default: 64 KiB. */
  readonly most?: number;
}

/**
 * A connection that may fail after the caller got it. Until the first byte arrives, it keeps the client's
 * data and sends it again over another connection to the target. After the first byte, or when the data
 * exceeds `most`, it stays with its connection.
 */
export class RetriedConn extends StreamedConn implements Conn {
  readonly isSocket: boolean;
  readonly carriesHalfClose: boolean;
  onAbort: ((reason: unknown) => void) | undefined = undefined;
  #conn: Conn;
  readonly #next: RetriedConnOptions["next"];
  readonly #most: number;
  /** The client's data so far; undefined when no further retry is possible. */
  #kept: Uint8Array<ArrayBuffer>[] | undefined = [];
  #keptLength = 0;
  #haveEnded = false;
  #isClosed = false;
  #reason: unknown;
  #changing: Promise<void> | undefined;
  /** Aborts the search for another connection. */
  #looking: AbortController | undefined;

  constructor({ first, next, most = 64 * 1024 }: RetriedConnOptions) {
    super();
    this.#conn = first;
    this.#next = next;
    this.#most = most;
    this.isSocket = first.isSocket === true;
    this.carriesHalfClose = first.carriesHalfClose !== false;
    this.#listen();
  }

  get peer(): string {
    return this.#conn.peer;
  }

  read(into: Uint8Array<ArrayBuffer>): Promise<number | null> {
    return this.#kept ? this.#readFirst(into) : this.#conn.read(into);
  }

  async #readFirst(into: Uint8Array<ArrayBuffer>): Promise<number | null> {
    while (true) {
      const conn = this.#conn;
      try {
        const count = await conn.read(into);
        this.#settle();
        return count;
      } catch (error) {
        await this.#change(conn, error);
      }
    }
  }

  write(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    return this.#kept ? this.#writeFirst(bytes) : this.#conn.write(bytes);
  }

  async #writeFirst(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    await this.#changing?.catch(() => {});
    if (this.#kept && this.#keptLength + bytes.length > this.#most) this.#settle();
    const conn = this.#conn;
    if (!this.#kept) return await conn.write(bytes);
    this.#kept.push(bytes.slice());
    this.#keptLength += bytes.length;
    try {
      await conn.write(bytes);
    } catch (error) {
      // The new connection gets the kept data together with these bytes.
      await this.#change(conn, error);
    }
  }

  async closeWrite(): Promise<void> {
    await this.#changing?.catch(() => {});
    this.#haveEnded = true;
    await this.#conn.closeWrite();
  }

  abort(reason: unknown = new DOMException("The connection was dropped", "AbortError")): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#reason = reason;
    this.#settle();
    this.#looking?.abort(reason);
    this.#conn.onAbort = undefined;
    this.#conn.abort(reason);
    this.tellAbort(reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#reason ??= new DOMException("The connection was closed", "AbortError");
    this.#settle();
    this.#looking?.abort(this.#reason);
    this.#conn.onAbort = undefined;
    await this.#conn[Symbol.asyncDispose]();
  }

  /**
   * Switches to another connection after `failed`, once for a reader and a writer that hit the same failure;
   * otherwise throws it.
   */
  async #change(failed: Conn, error: unknown): Promise<void> {
    if (this.#isClosed) throw this.#reason;
    if (this.#conn === failed) {
      this.#changing ??= this.#changeOnce(error).finally(() => this.#changing = undefined);
    }
    await this.#changing;
  }

  async #changeOnce(error: unknown): Promise<void> {
    if (!this.#kept) throw error;
    const conn = await this.#another(error);
    if (!conn) {
      this.#settle();
      throw error;
    }
    if (this.#isClosed) {
      conn.abort(this.#reason);
      throw this.#reason;
    }
    this.#conn.onAbort = undefined;
    this.#conn = conn;
    this.#listen();
    try {
      for (const bytes of this.#kept ?? []) await conn.write(bytes);
      if (this.#haveEnded) await conn.closeWrite();
    } catch {
      // The reader gets the same failure and retries.
    }
  }

  /** A caller that aborts does not wait for the next connection; if one arrives anyway, it is closed. */
  async #another(error: unknown): Promise<Conn | undefined> {
    const { signal } = this.#looking = new AbortController();
    const next = this.#next(error, { signal });
    next.then((conn) => signal.aborted && conn?.abort(signal.reason), () => {});
    return await unlessAborted(next, signal);
  }

  #settle(): void {
    this.#kept = undefined;
  }

  #listen(): void {
    const conn = this.#conn;
    if (!("onAbort" in conn)) return;
    conn.onAbort = (reason) => this.tellAbort(reason);
  }
}
