import type { Decode, Messages } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";
import { decodeResponseHead, InterimCount, type ResponseHead } from "../wire/mod.ts";

export interface FinalHeadOptions {
  /** Who answers, for messages. */
  readonly from: string;
  /** Is given each interim head, before the next one is read. */
  readonly onInterim?: (head: ResponseHead) => Promise<void>;
  /** What a connection that is closed before the head is; `unreachable` when absent. */
  readonly closed?: "protocol" | "unreachable" | undefined;
}

/**
 * The head of the final response behind a bounded number of interim ones (RFC 9110, section 15.2). One that changes the
 * protocol is the last of this protocol (section 15.2.2).
 */
export async function readFinalHead(
  messages: Messages,
  { from, onInterim, closed = "unreachable" }: FinalHeadOptions,
): Promise<ResponseHead> {
  const interim = new InterimCount();
  while (true) {
    const read = await messages.read(decodeSizedHead);
    if (!read) throw noAnswer(from, closed);
    const { head, size } = read;
    if (head.status >= 200 || head.status === 101) return head;
    interim.add(size);
    await onInterim?.(head);
  }
}

/** The error for a server or a proxy that ended the connection before it answered. */
export function noAnswer(from: string, code: "protocol" | "unreachable" = "unreachable"): PosternError {
  return new PosternError(code, `Cannot read the answer of ${from}`, {
    reason: "it closed the connection",
    detail: "reset",
  });
}

const decodeSizedHead: Decode<{ readonly head: ResponseHead; readonly size: number }> = (bytes) => {
  const decoded = decodeResponseHead(bytes);
  return decoded && { value: { head: decoded.value, size: decoded.used }, used: decoded.used };
};
