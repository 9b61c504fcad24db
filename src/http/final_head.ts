import type { Decode, Messages } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";
import { decodeResponseHead, InterimCount, type ResponseHead } from "../wire/mod.ts";

export interface FinalHeadOptions {
  /** The server's name for messages. */
  readonly from: string;
  /** Called with each interim head before the next one is read. */
  readonly onInterim?: (head: ResponseHead) => Promise<void>;
  /** The error code for a connection closed before the head (default: `unreachable`). */
  readonly closed?: "protocol" | "unreachable" | undefined;
  /** Creates the decoder of one head (default: `decodeResponseHead`). */
  readonly decoder?: () => Disposable & { readonly decode: Decode<ResponseHead>; readonly limit: number };
}

/**
 * Reads the head of the final response after a limited number of interim ones (RFC 9110, section 15.2). A
 * response that switches protocols is final (section 15.2.2).
 */
export async function readFinalHead(
  messages: Messages,
  { from, onInterim, closed = "unreachable", decoder }: FinalHeadOptions,
): Promise<ResponseHead> {
  const interim = new InterimCount();
  while (true) {
    using own = decoder?.();
    const read = await messages.read(sizedHead(own?.decode ?? decodeResponseHead), own ?? {});
    if (!read) throw noAnswer(from, closed);
    const { head, size } = read;
    if (head.status >= 200 || head.status === 101) return head;
    interim.add(size);
    await onInterim?.(head);
  }
}

/** The error for a server or proxy that closed the connection before its response. */
export function noAnswer(from: string, code: "protocol" | "unreachable" = "unreachable"): PosternError {
  return new PosternError(code, `Cannot read the response from ${from}`, {
    reason: "it closed the connection",
    detail: "reset",
  });
}

function sizedHead(
  decode: Decode<ResponseHead>,
): Decode<{ readonly head: ResponseHead; readonly size: number }> {
  return (bytes) => {
    const decoded = decode(bytes);
    return decoded && { value: { head: decoded.value, size: decoded.used }, used: decoded.used };
  };
}
