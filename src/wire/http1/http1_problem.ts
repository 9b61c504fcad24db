import { asPosternError, httpStatus, isPosternError, PosternError } from "../../words/mod.ts";

/** A malformed or refused HTTP/1.1 message, with the status that answers it (502 where a server's response was malformed). */
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

/** The status that answers an error of any kind. What was cancelled has one for the log, which no client knows. */
export function answerStatus(error: unknown): number {
  if (error instanceof Http1Problem) return error.status;
  return isPosternError(asPosternError(error), "cancelled") ? 503 : httpStatus(error);
}
