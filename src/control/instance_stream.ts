import { type Conn, type Messages, StreamedConn } from "../core/mod.ts";
import type { PosternError } from "../words/mod.ts";
import { HttpBody } from "../http/mod.ts";
import { endTrailer } from "./end_trailer.ts";

export interface InstanceStreamOptions {
  /** The name of the instance, for messages. */
  readonly from: string;
  /** Reads the error of a target from the trailer; throws `protocol` for an invalid one. */
  readonly readEnd: (text: string) => PosternError;
}

/**
 * A connection to a target through the control socket. The target's bytes arrive as HTTP chunks: a plain end of the
 * socket would look the same for a target that ended, for one that failed, and for an instance that was killed.
 */
export class InstanceStream extends StreamedConn implements Conn {
  readonly isSocket = true;
  readonly forgetsFailedWrites: boolean;
  onAbort: ((reason: unknown) => void) | undefined = undefined;
  readonly #conn: Conn;
  readonly #messages: Messages;
  readonly #body: HttpBody;
  readonly #options: InstanceStreamOptions;
  #piece: Uint8Array<ArrayBuffer> | undefined;
  #failure: unknown;

  /** `messages` has read the head of the answer. */
  constructor(conn: Conn, messages: Messages, options: InstanceStreamOptions) {
    super();
    this.#conn = conn;
    this.forgetsFailedWrites = conn.forgetsFailedWrites === true;
    this.#messages = messages;
    this.#options = options;
    this.#body = new HttpBody(messages, { kind: "chunked" }, {
      from: options.from,
      endedEarly: "unreachable",
    });
  }

  get peer(): string {
    return this.#conn.peer;
  }

  async read(into: Uint8Array<ArrayBuffer>): Promise<number | null> {
    while (true) {
      if (this.#failure !== undefined) throw this.#failure;
      const piece = this.#piece ?? this.#body.take();
      if (piece) {
        const count = Math.min(into.length, piece.length);
        into.set(piece.subarray(0, count));
        this.#piece = count < piece.length ? piece.subarray(count) : undefined;
        return count;
      }
      if (this.#body.isEnded) return this.#end();
      if (!await this.#messages.fill()) this.#body.end();
    }
  }

  write(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    return this.#conn.write(bytes);
  }

  closeWrite(): Promise<void> {
    return this.#conn.closeWrite();
  }

  abort(reason: unknown = new DOMException("The connection was dropped", "AbortError")): void {
    this.#failure ??= reason;
    this.#conn.abort(reason);
    this.tellAbort(reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#conn[Symbol.asyncDispose]();
  }

  #end(): null {
    const text = this.#body.trailers.get(endTrailer);
    if (text === undefined) return null;
    this.#failure = this.#options.readEnd(text);
    throw this.#failure;
  }
}
