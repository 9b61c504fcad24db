/** The kind of a failure, for callers that react to it. Every error of postern has exactly one code. */
export type ErrorCode =
  | "usage"
  | "config"
  | "auth"
  | "not_allowed"
  | "no_route"
  | "name_not_found"
  | "refused"
  | "unreachable"
  | "timeout"
  | "protocol"
  | "cancelled"
  | "internal";

/** A detail of a code that changes the answer to a client or a caller. */
export type ErrorDetail =
  | "in_use"
  | "low_port"
  | "network"
  | "host"
  | "reset"
  | "address_type"
  | "command"
  | "overloaded"
  | "too_large"
  | "no_agent"
  | "silent_agent"
  | "loop"
  | "no_catalogue"
  | "no_instance"
  | "no_program"
  | "damaged"
  | "newer"
  | "owned"
  | "vanished"
  | "untrusted"
  | "starting"
  | "closing"
  /** The user must sign in: a retry in the background would open a browser window. */
  | "sign_in";

export interface ErrorOptions {
  readonly cause?: unknown;
  /** The cause alone; the full message becomes `message: reason`. */
  readonly reason?: string | undefined;
  /** What the user can do next, without a period. */
  readonly hint?: string | undefined;
  readonly detail?: ErrorDetail | undefined;
  /** An exit code that replaces the one of the table (3: no instance, 7: a check failed). */
  readonly exit?: number | undefined;
}

/** postern's only error class: a code, a sentence and a hint. */
export class PosternError extends Error {
  override readonly name = "PosternError";
  readonly code: ErrorCode;
  /** The cause at the end of the message; `withContext` reuses it in a new sentence. */
  readonly reason: string | undefined;
  readonly hint: string | undefined;
  readonly detail: ErrorDetail | undefined;
  readonly exit: number | undefined;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    const { cause, reason } = options;
    super(
      reason === undefined ? message : `${message}: ${reason}`,
      cause === undefined ? undefined : { cause },
    );
    this.code = code;
    this.reason = reason;
    this.hint = options.hint;
    this.detail = options.detail;
    this.exit = options.exit;
  }

  /** A copy with another reason, hint or exit code. */
  with(changes: Pick<ErrorOptions, "reason" | "hint" | "exit" | "cause">): PosternError {
    const { code, message, reason, hint, detail, exit } = this;
    const problem = reason === undefined ? message : message.slice(0, -`: ${reason}`.length);
    return new PosternError(code, problem, { cause: this, reason, hint, detail, exit, ...changes });
  }
}

interface Answers {
  readonly exit: number;
  readonly socks5: number;
  readonly http: number;
}

/** The exit code, SOCKS5 reply (RFC 1928, section 6) and HTTP status of each error code. */
const answers: Record<ErrorCode, Answers> = {
  usage: { exit: 2, socks5: 1, http: 400 },
  config: { exit: 4, socks5: 1, http: 500 },
  auth: { exit: 5, socks5: 2, http: 403 },
  not_allowed: { exit: 1, socks5: 2, http: 403 },
  no_route: { exit: 6, socks5: 2, http: 403 },
  name_not_found: { exit: 6, socks5: 4, http: 502 },
  refused: { exit: 6, socks5: 5, http: 502 },
  unreachable: { exit: 6, socks5: 4, http: 502 },
  timeout: { exit: 6, socks5: 6, http: 504 },
  protocol: { exit: 1, socks5: 1, http: 502 },
  cancelled: { exit: 130, socks5: 1, http: 499 },
  internal: { exit: 1, socks5: 1, http: 500 },
};

/** Whether a value from another process is an error code. */
export function isErrorCode(text: unknown): text is ErrorCode {
  return typeof text === "string" && Object.hasOwn(answers, text);
}

export function exitCode(error: unknown): number {
  const known = asPosternError(error);
  return known.exit ?? answers[known.code].exit;
}

export function socks5Reply(error: unknown): number {
  const { code, detail } = asPosternError(error);
  if (code === "unreachable" && detail === "network") return 3;
  if (detail === "command") return 7;
  if (detail === "address_type") return 8;
  return answers[code].socks5;
}

export function httpStatus(error: unknown): number {
  const { code, detail } = asPosternError(error);
  return detail === "overloaded" ? 503 : answers[code].http;
}

/** Converts a thrown value to a `PosternError`: an unknown value becomes `internal`, an aborted signal `cancelled`. */
export function asPosternError(error: unknown): PosternError {
  if (error instanceof PosternError) return error;
  if (error instanceof DOMException && error.name === "AbortError") {
    return new PosternError("cancelled", "Canceled", { cause: error });
  }
  if (error instanceof DOMException && error.name === "TimeoutError") {
    return new PosternError("timeout", "Timed out", { cause: error });
  }
  return new PosternError("internal", `Unexpected failure: ${describe(error)}`, { cause: error });
}

/** Adds the shell's exit code to a failed program start: 127 for a missing program, else 126. */
export function asUnstarted(error: unknown): unknown {
  if (!(error instanceof PosternError)) return error;
  // The system's message for a missing program would repeat ours.
  return error.detail === "no_program"
    ? error.with({ exit: 127, cause: undefined })
    : error.with({ exit: 126 });
}

/** Whether a thrown value is a `PosternError` with this code. */
export function isPosternError(error: unknown, code: ErrorCode): error is PosternError {
  return error instanceof PosternError && error.code === code;
}

/**
 * A copy of an error with a more specific sentence, for a caller that knows what failed: `problem` is a sentence without
 * a cause, such as "Cannot reach the proxy". The message ends with the error's reason, or else its whole message. Code,
 * detail, hint and exit stay unless `changes` replaces them.
 */
export function withContext(
  problem: string,
  error: unknown,
  changes: Pick<ErrorOptions, "detail" | "hint" | "exit"> & { readonly code?: ErrorCode | undefined } = {},
): PosternError {
  const { code = "internal", detail = undefined, hint = undefined, exit = undefined } =
    error instanceof PosternError ? error : {};
  return new PosternError(changes.code ?? code, `${problem}: ${reasonOf(error)}`, {
    cause: error,
    detail: changes.detail ?? detail,
    hint: changes.hint ?? hint,
    exit: changes.exit ?? exit,
  });
}

/**
 * Adds context to a failure on the path to a target. "refused" and "name_not_found" become "unreachable": a client
 * would otherwise relate them to its target.
 */
export function pathFailure(
  problem: string,
  error: PosternError,
  changes: Pick<ErrorOptions, "detail" | "hint"> = {},
): PosternError {
  return withContext(problem, error, { ...changes, ...(isOfTarget(error) && { code: "unreachable" }) });
}

/** Whether a failure concerns the dialed target instead of the path to it. */
export function isOfTarget({ code }: PosternError): boolean {
  return code === "refused" || code === "name_not_found";
}

/** The cause of a failure, as the end of an error sentence. */
export function reasonOf(error: unknown): string {
  return error instanceof PosternError ? error.reason ?? asCause(error.message) : asCause(describe(error));
}

/** A message for use after a colon: "Cannot" becomes lower case. */
export function asCause(message: string): string {
  return message.replace(/^Cannot /, "cannot ");
}

/** One line for the log or the terminal: the message, then the messages of causes that add information. */
export function describe(error: unknown): string {
  const parts: string[] = [];
  for (let current = error, depth = 0; current !== undefined && current !== null && depth < 5; depth++) {
    const text = current instanceof Error ? current.message || current.name : String(current);
    const known = current instanceof PosternError ? current.reason ?? text : text;
    // System messages often repeat ours: "Connection refused (os error 111)".
    const plain = known.replace(/ \(os error \d+\).*$/s, "").toLowerCase();
    if (!parts.some((part) => part.toLowerCase().includes(plain))) {
      parts.push(parts.length === 0 ? text : asCause(text));
    }
    const cause = current instanceof Error ? current.cause : undefined;
    // A reason already restates the system's message.
    const hasReason = current instanceof PosternError && current.reason !== undefined;
    current = hasReason && !(cause instanceof PosternError) ? undefined : cause;
  }
  return parts.join(": ");
}
