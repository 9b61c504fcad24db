import { type Clock, type Conn, StreamedConn } from "../../core/mod.ts";
import { encodeChunk, encodeLastChunk } from "../../wire/mod.ts";
import { endTrailer, endTrailerText } from "../../control/mod.ts";

/** How long to wait for a client that does not read the reason, in ms. */
const longestWord = 1000;

/**
 * A client of the control socket that gets a target's bytes as HTTP chunks. A trailer after the last chunk tells why
 * the target failed.
 */
export class StreamClient extends StreamedConn implements Conn {
  readonly isSocket = true;
  readonly forgetsFailedWrites = true;
  onAbort: ((reason: unknown) => void) | undefined = undefined;
  readonly #conn: Conn;
  readonly #clock: Clock;
  #isWriting = false;
  #isEnded = false;
  #failure: unknown;
  #ending: Promise<void> | undefined;

  constructor(conn: Conn, clock: Clock) {
    super();
    this.#conn = conn;
    this.#clock = clock;
  }

  get peer(): string {
    return this.#conn.peer;
  }

  read(into: Uint8Array<ArrayBuffer>): Promise<number | null> {
    return this.#failure === undefined ? this.#conn.read(into) : Promise.reject(this.#failure);
  }

  async write(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    if (bytes.length > 0) await this.#send(encodeChunk(bytes));
  }

  async closeWrite(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#isEnded) return;
    this.#isEnded = true;
    await this.#send(encodeLastChunk());
    await this.#conn.closeWrite();
  }

  /** Tells the client the reason, unless the client does not read. */
  abort(reason: unknown = new DOMException("The connection was dropped", "AbortError")): void {
    if (this.#failure !== undefined) return;
    this.#failure = reason;
    if (this.#isWriting || this.#isEnded) this.#conn.abort(reason);
    else this.#ending = this.#lastWord(reason);
    const tell = this.onAbort;
    this.onAbort = undefined;
    tell?.(reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#ending;
    // A relay disposes both sides after their ends: the client must still get the last chunk.
    if (this.#failure === undefined && !this.#isEnded) await this.#ended(this.closeWrite());
    await this.#conn[Symbol.asyncDispose]();
  }

  async #lastWord(reason: unknown): Promise<void> {
    const last = encodeLastChunk([[endTrailer, endTrailerText(reason)]]);
    await this.#ended(this.#send(last).then(() => this.#conn.closeWrite()));
    this.#conn.abort(reason);
  }

  /** Waits for the end of the client's bytes, or for a client that is gone or does not read. */
  async #ended(writing: Promise<void>): Promise<void> {
    using _late = this.#clock.after(longestWord, () => this.#conn.abort());
    // A client that is gone needs no reason.
    await writing.catch(() => {});
  }

  async #send(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    this.#isWriting = true;
    try {
      await this.#conn.write(bytes);
    } catch (error) {
      throw this.#failure ?? error;
    } finally {
      this.#isWriting = false;
    }
  }
}
