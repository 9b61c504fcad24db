import type { Messages } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";
import { ChunkedDecoder, Fields, type Framing, Http1Problem } from "../wire/mod.ts";

const noFields = new Fields();

export interface ReadBodyOptions extends Partial<CopyBodyOptions> {
  /** In bytes. */
  readonly limit?: number;
}

export interface CopyBodyOptions {
  /** What answers a malformed body: 400 for a request's, 502 for a response's. */
  readonly status: 400 | 502;
}

/**
 * Hands a body on as it comes, without its framing, and answers its trailers. The next piece is read when `write` has
 * taken the last one; the pieces are views that are valid until then.
 */
export async function copyBody(
  messages: Messages,
  framing: Framing,
  write: (bytes: Uint8Array<ArrayBuffer>) => Promise<void>,
  { status }: CopyBodyOptions = { status: 400 },
): Promise<Fields> {
  if (framing.kind === "chunked") return await copyChunks(messages, write, status);
  let left = framing.kind === "length" ? framing.length : framing.kind === "close" ? Infinity : 0;
  while (left > 0) {
    const bytes = messages.take(left);
    if (bytes.length > 0) {
      left -= bytes.length;
      await write(bytes);
    } else if (!await messages.fill()) {
      if (framing.kind === "close") return noFields;
      throw new PosternError("protocol", `Cannot read the whole body: the peer ended ${left} bytes early`);
    }
  }
  return noFields;
}

/** A whole body, refused with 413 as soon as it is known to be over `limit` bytes. */
export async function readBody(
  messages: Messages,
  framing: Framing,
  { limit = Infinity, status = 400 }: ReadBodyOptions = {},
): Promise<Uint8Array<ArrayBuffer>> {
  if (framing.kind === "length" && framing.length > limit) throw tooLarge(limit);
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  await copyBody(messages, framing, (bytes) => {
    size += bytes.length;
    if (size > limit) return Promise.reject(tooLarge(limit));
    chunks.push(bytes.slice());
    return Promise.resolve();
  }, { status });
  return joined(chunks, size);
}

/** Pieces as one. */
export function joined(chunks: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

async function copyChunks(
  messages: Messages,
  write: (bytes: Uint8Array<ArrayBuffer>) => Promise<void>,
  status: 400 | 502,
): Promise<Fields> {
  const decoder = new ChunkedDecoder(status);
  const next = decoder.next.bind(decoder);
  while (true) {
    const part = await messages.read(next);
    if (!part) {
      throw new PosternError("protocol", "Cannot read the whole body: the peer ended before the last chunk");
    }
    if (part.kind === "end") return part.trailers;
    await write(part.bytes);
  }
}

function tooLarge(limit: number): Http1Problem {
  return new Http1Problem(413, `Cannot take a body of more than ${limit} bytes`);
}
