import { type Clock, type Conn, type Messages, StreamedConn } from "../../core/mod.ts";
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
  /** Reads the client: after an abort, a read that waits must not touch the buffer of its caller. */
  readonly #messages: Messages;
  readonly #clock: Clock;
  #isWriting = false;
  #isEnded = false;
  #failure: unknown;
  #failRead: ((reason: unknown) => void) | undefined;
  #ending: Promise<void> | undefined;

  /** `messages` has read the client's request. */
  constructor(conn: Conn, messages: Messages, clock: Clock) {
    super();
    this.#conn = conn;
    this.#messages = messages;
    this.#clock = clock;
  }

  get peer(): string {
    return this.#conn.peer;
  }

  async read(into: Uint8Array<ArrayBuffer>): Promise<number | null> {
    const { promise: failed, reject } = Promise.withResolvers<never>();
    this.#failRead = reject;
    while (this.#failure === undefined && this.#messages.pending.length === 0) {
      if (!await Promise.race([this.#messages.fill(), failed])) return null;
    }
    if (this.#failure !== undefined) throw this.#failure;
    const part = this.#messages.take(into.length);
    into.set(part);
    return part.length;
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
    this.#failRead?.(reason);
    if (this.#isWriting || this.#isEnded) this.#conn.abort(reason);
    else this.#ending = this.#lastWord(reason);
    this.tellAbort(reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#ending;
    // A relay disposes both sides after their ends: the client must still get the last chunk.
    if (this.#failure === undefined && !this.#isEnded) await this.#ended(this.closeWrite());
    await this.#conn[Symbol.asyncDispose]();
  }

  /** Sends the reason, and waits for the client to close: closing first could reset the connection and lose it. */
  async #lastWord(reason: unknown): Promise<void> {
    const last = encodeLastChunk([[endTrailer, endTrailerText(reason)]]);
    const told = async () => {
      await this.#send(last);
      await this.#conn.closeWrite();
      do this.#messages.take(Infinity); while (await this.#messages.fill());
    };
    await this.#ended(told());
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
