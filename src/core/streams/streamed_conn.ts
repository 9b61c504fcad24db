import type { Conn } from "./conn.ts";
import { readableOf, writableOf } from "./streams.ts";

/** The web streams of a connection, created over its own calls on first use. */
export abstract class StreamedConn implements Pick<Conn, "readable" | "writable"> {
  #readable: ReadableStream<Uint8Array<ArrayBuffer>> | undefined;
  #writable: WritableStream<Uint8Array<ArrayBuffer>> | undefined;

  abstract read(into: Uint8Array<ArrayBuffer>): Promise<number | null>;
  abstract write(bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  abstract closeWrite(): Promise<void>;
  abstract abort(reason?: unknown): void;

  /** Calls `onAbort` once, for a connection that has it. */
  protected tellAbort(this: Pick<Conn, "onAbort">, reason: unknown): void {
    const tell = this.onAbort;
    this.onAbort = undefined;
    tell?.(reason);
  }

  get readable(): ReadableStream<Uint8Array<ArrayBuffer>> {
    return this.#readable ??= readableOf(this);
  }

  get writable(): WritableStream<Uint8Array<ArrayBuffer>> {
    return this.#writable ??= writableOf(this);
  }
}
