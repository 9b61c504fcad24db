import type { Messages } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";
import { ChunkedDecoder, type Framing } from "../wire/mod.ts";

export interface AnswerBodyOptions {
  /** In bytes. */
  readonly limit: number;
  /** Who answers, for messages. */
  readonly from: string;
}

/** The whole body of a server's answer, refused as soon as it is known to be over the limit. */
export async function readAnswerBody(
  messages: Messages,
  framing: Framing,
  { limit, from }: AnswerBodyOptions,
): Promise<Uint8Array<ArrayBuffer>> {
  const pieces = new Pieces(limit, from);
  if (framing.kind === "length") pieces.expect(framing.length);
  if (framing.kind === "chunked") await readChunks(messages, pieces, from);
  else await readPlain(messages, framing, pieces, from);
  return pieces.joined();
}

async function readChunks(messages: Messages, pieces: Pieces, from: string): Promise<void> {
  const decoder = new ChunkedDecoder(502);
  const next = decoder.next.bind(decoder);
  while (true) {
    const part = await messages.read(next);
    if (!part) throw endedEarly(from);
    if (part.kind === "end") return;
    pieces.add(part.bytes);
  }
}

async function readPlain(messages: Messages, framing: Framing, pieces: Pieces, from: string): Promise<void> {
  let left = framing.kind === "length" ? framing.length : framing.kind === "close" ? Infinity : 0;
  while (left > 0) {
    const bytes = messages.take(left);
    left -= bytes.length;
    if (bytes.length > 0) pieces.add(bytes);
    else if (!await messages.fill()) {
      if (framing.kind === "close") return;
      throw endedEarly(from);
    }
  }
}

class Pieces {
  readonly #limit: number;
  readonly #from: string;
  readonly #pieces: Uint8Array<ArrayBuffer>[] = [];
  #size = 0;

  constructor(limit: number, from: string) {
    this.#limit = limit;
    this.#from = from;
  }

  expect(size: number): void {
    if (size <= this.#limit) return;
    throw new PosternError(
      "protocol",
      `Cannot take the answer of ${this.#from}: more than ${this.#limit} bytes`,
      {
        detail: "too_large",
      },
    );
  }

  /** The bytes are a view of the reader's buffer: they are copied. */
  add(bytes: Uint8Array<ArrayBuffer>): void {
    this.#size += bytes.length;
    this.expect(this.#size);
    this.#pieces.push(bytes.slice());
  }

  joined(): Uint8Array<ArrayBuffer> {
    const whole = new Uint8Array(this.#size);
    let at = 0;
    for (const piece of this.#pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    return whole;
  }
}

function endedEarly(from: string): PosternError {
  return new PosternError("protocol", `Cannot read the whole answer of ${from}: it ended early`);
}
