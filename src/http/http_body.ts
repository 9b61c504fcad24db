import { type Bytes, joinBytes, type Messages } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";
import { ChunkedDecoder, Fields, type Framing, Http1Problem } from "../wire/mod.ts";

export interface BodyOptions {
  /** The server's name if this is a response; absent for a request. */
  readonly from?: string | undefined;
  /** The error code for a truncated body (default: `protocol`). */
  readonly endedEarly?: "protocol" | "unreachable" | undefined;
}

export interface ReadBodyOptions extends BodyOptions {
  /** In bytes. */
  readonly limit?: number;
}

/**
 * Reads a body without its framing. Pieces are views, valid until the next `take()`. When no bytes have
 * arrived, the caller waits with `messages.fill()`, so that available bytes cost no wait.
 */
export class HttpBody {
  readonly #messages: Messages;
  readonly #options: BodyOptions;
  readonly #chunks: ChunkedDecoder | undefined;
  readonly #endsWithConnection: boolean;
  #left: number;
  #trailers = noFields;

  constructor(messages: Messages, framing: Framing, options: BodyOptions = {}) {
    this.#messages = messages;
    this.#options = options;
    this.#endsWithConnection = framing.kind === "close";
    this.#chunks = framing.kind === "chunked"
      ? new ChunkedDecoder(options.from === undefined ? 400 : 502)
      : undefined;
    this.#left = framing.kind === "none" ? 0 : framing.kind === "length" ? framing.length : Infinity;
  }

  get isEnded(): boolean {
    return this.#left === 0;
  }

  /** The trailers of a chunked body, after its end. */
  get trailers(): Fields {
    return this.#trailers;
  }

  /** Returns the available bytes; undefined at the end or when more must arrive first. */
  take(): Bytes | undefined {
    if (this.isEnded) return undefined;
    if (this.#chunks) return this.#takeChunk(this.#chunks);
    const bytes = this.#messages.take(this.#left);
    this.#left -= bytes.length;
    return bytes.length > 0 ? bytes : undefined;
  }

  /** Records the end of the connection; throws if the body is incomplete. */
  end(): void {
    const { from, endedEarly = "protocol" } = this.#options;
    if (!this.#endsWithConnection) {
      const what = from === undefined
        ? "Cannot read the whole body"
        : `Cannot read the whole response from ${from}`;
      throw new PosternError(endedEarly, what, { reason: "the connection ended early" });
    }
    this.#left = 0;
  }

  #takeChunk(chunks: ChunkedDecoder): Bytes | undefined {
    const { pending } = this.#messages;
    const part = pending.length > 0 ? chunks.next(pending) : undefined;
    if (!part) return undefined;
    this.#messages.take(part.used);
    if (part.value.kind === "data") return part.value.bytes;
    this.#left = 0;
    this.#trailers = part.value.trailers;
    return undefined;
  }
}

/**
 * Copies a body as it arrives, without its framing, and returns its trailers. Reads the next piece after
 * `write` has finished.
 */
export async function copyBody(
  messages: Messages,
  framing: Framing,
  write: (bytes: Bytes) => Promise<void>,
  options?: BodyOptions,
): Promise<Fields> {
  const body = new HttpBody(messages, framing, options);
  while (true) {
    const bytes = body.take();
    if (bytes) await write(bytes);
    else if (body.isEnded) return body.trailers;
    else if (!await messages.fill()) body.end();
  }
}

/** Reads a whole body. Throws as soon as it exceeds `limit` bytes, for a request with status 413. */
export async function readBody(
  messages: Messages,
  framing: Framing,
  { limit = Infinity, ...options }: ReadBodyOptions = {},
): Promise<Bytes> {
  const { from } = options;
  if (framing.kind === "length" && framing.length > limit) throw tooLarge(limit, from);
  const chunks: Bytes[] = [];
  let size = 0;
  await copyBody(messages, framing, (bytes) => {
    size += bytes.length;
    if (size > limit) return Promise.reject(tooLarge(limit, from));
    chunks.push(bytes.slice());
    return Promise.resolve();
  }, options);
  return joinBytes(chunks);
}

function tooLarge(limit: number, from: string | undefined): PosternError {
  if (from === undefined) return new Http1Problem(413, `Cannot accept a body of more than ${limit} bytes`);
  return new PosternError("protocol", `Cannot read the response from ${from}`, {
    reason: `more than ${limit} bytes`,
    detail: "too_large",
  });
}

const noFields = new Fields();
