import { type Conn, StreamedConn, unlessAborted } from "../../core/mod.ts";

export interface RetriedConnOptions {
  readonly first: Conn;
  /** The next way to the same target after one that failed with `error`; undefined where there is none. */
  readonly next: (error: unknown, options: { readonly signal: AbortSignal }) => Promise<Conn | undefined>;
  /** How many bytes of the client are kept for another way; 64 KiB unless told. */
  readonly most?: number;
}

/**
 * A connection whose failure shows only after it was handed out: as long as nothing was read from it, what the client
 * said is kept, and said again on another way to the target. Once a byte has come, or more was said than is kept, it
 * is the way that it took.
 */
export class RetriedConn extends StreamedConn implements Conn {
  readonly isSocket: boolean;
  readonly carriesHalfClose: boolean;
  onAbort: ((reason: unknown) => void) | undefined = undefined;
  #conn: Conn;
  readonly #next: RetriedConnOptions["next"];
  readonly #most: number;
  /** What was said so far; undefined once nothing is tried again. */
  #kept: Uint8Array<ArrayBuffer>[] | undefined = [];
  #keptLength = 0;
  #haveEnded = false;
  #isClosed = false;
  #reason: unknown;
  #changing: Promise<void> | undefined;
  /** Of the way that is being looked for. */
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
      // What is kept is said again on the other way, with these bytes.
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
    const tell = this.onAbort;
    this.onAbort = undefined;
    tell?.(reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#reason ??= new DOMException("The connection was closed", "AbortError");
    this.#settle();
    this.#looking?.abort(this.#reason);
    this.#conn.onAbort = undefined;
    await this.#conn[Symbol.asyncDispose]();
  }

  /** Takes another way after `failed`, once for a reader and a writer that meet the same failure; else throws it. */
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
      // The reader meets the same failure, and tries again.
    }
  }

  /** Whoever drops the connection does not wait for the next way; one that comes after all is dropped too. */
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
    conn.onAbort = (reason) => {
      const tell = this.onAbort;
      this.onAbort = undefined;
      tell?.(reason);
    };
  }
}
