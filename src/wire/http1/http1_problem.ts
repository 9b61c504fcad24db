import { asPosternError, httpStatus, isPosternError, PosternError } from "../../words/mod.ts";

/**
 * A malformed or rejected HTTP/1.1 message with the status for the client (502 for a server's malformed
 * response).
 */
export class Http1Problem extends PosternError {
  readonly status: number;

  constructor(
    status: number,
    message: string,
    options: { reason?: string; hint?: string; cause?: unknown } = {},
  ) {
    super("protocol", message, options);
    this.status = status;
  }
}

/** The HTTP status for any error. A canceled request has one for the log; the client never sees it. */
export function answerStatus(error: unknown): number {
  if (error instanceof Http1Problem) return error.status;
  return isPosternError(asPosternError(error), "cancelled") ? 503 : httpStatus(error);
}
