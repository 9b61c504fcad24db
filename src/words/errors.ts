/** What a caller can act on. Every failure of postern carries exactly one of these. */
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

/** Finer than a code, where an answer on the wire depends on it. */
export type ErrorDetail =
  | "in_use"
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
  /** A person must sign in: another attempt in the background would open a window. */
  | "sign_in";

export interface ErrorOptions {
  readonly cause?: unknown;
  /** Why it failed, without what failed: the message then reads `message: reason`. */
  readonly reason?: string | undefined;
  /** The next thing to try, without a full stop. */
  readonly hint?: string | undefined;
  readonly detail?: ErrorDetail | undefined;
  /** Where the table's exit code is not the right one (3 no instance, 7 a check failed). */
  readonly exit?: number | undefined;
}

/** The one error class: a code, a sentence for a person, and the next thing to try. */
export class PosternError extends Error {
  override readonly name = "PosternError";
  readonly code: ErrorCode;
  /** The end of the message that `withContext` puts behind a better name for what failed. */
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

  /** The same failure with another reason, hint or exit code. */
  with(changes: Pick<ErrorOptions, "reason" | "hint" | "exit" | "cause">): PosternError {
    const { code, message, reason, hint, detail, exit } = this;
    const what = reason === undefined ? message : message.slice(0, -`: ${reason}`.length);
    return new PosternError(code, what, { cause: this, reason, hint, detail, exit, ...changes });
  }
}

interface Answers {
  readonly exit: number;
  readonly socks5: number;
  readonly http: number;
}

/** What each code becomes for the shell, for SOCKS5 (RFC 1928, section 6) and for HTTP. */
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

/** Whether a text is one of our codes: what another process says may be anything. */
export function isErrorCode(text: unknown): text is ErrorCode {
  return typeof text === "string" && Object.hasOwn(answers, text);
}

/** The process's exit code for an error. */
export function exitCode(error: unknown): number {
  const known = asPosternError(error);
  return known.exit ?? answers[known.code].exit;
}

/** The SOCKS5 reply code for an error. */
export function socks5Reply(error: unknown): number {
  const { code, detail } = asPosternError(error);
  if (code === "unreachable" && detail === "network") return 3;
  if (detail === "command") return 7;
  if (detail === "address_type") return 8;
  return answers[code].socks5;
}

/** The HTTP status for an error. */
export function httpStatus(error: unknown): number {
  const { code, detail } = asPosternError(error);
  return detail === "overloaded" ? 503 : answers[code].http;
}

/** Any thrown value as a `PosternError`; an unknown one becomes `internal`, an aborted signal `cancelled`. */
export function asPosternError(error: unknown): PosternError {
  if (error instanceof PosternError) return error;
  if (error instanceof DOMException && error.name === "AbortError") {
    return new PosternError("cancelled", "Cancelled", { cause: error });
  }
  if (error instanceof DOMException && error.name === "TimeoutError") {
    return new PosternError("timeout", "Timed out", { cause: error });
  }
  return new PosternError("internal", `Unexpected failure: ${describe(error)}`, { cause: error });
}

/** Why a program was not started, with the exit code that shells have for it: 127 where there is none, else 126. */
export function asUnstarted(error: unknown): unknown {
  if (!(error instanceof PosternError)) return error;
  // The system's words for a missing program say the same.
  return error.detail === "no_program"
    ? error.with({ exit: 127, cause: undefined })
    : error.with({ exit: 126 });
}

/** Whether a thrown value is ours and carries this code. */
export function isPosternError(error: unknown, code: ErrorCode): error is PosternError {
  return error instanceof PosternError && error.code === code;
}

/**
 * The same failure, told by a caller who knows better what failed: `what` is a sentence without its cause, "Cannot reach
 * the proxy". Code, detail, hint and exit stay unless `changes` has others. The message ends with the error's reason, or
 * with its whole message where it has none.
 */
export function withContext(
  what: string,
  error: unknown,
  changes: Pick<ErrorOptions, "detail" | "hint" | "exit"> & { readonly code?: ErrorCode | undefined } = {},
): PosternError {
  const { code = "internal", detail = undefined, hint = undefined, exit = undefined } =
    error instanceof PosternError ? error : {};
  return new PosternError(changes.code ?? code, `${what}: ${reasonOf(error)}`, {
    cause: error,
    detail: changes.detail ?? detail,
    hint: changes.hint ?? hint,
    exit: changes.exit ?? exit,
  });
}

/**
 * The context of a failure on the path to a target: "refused" and "unknown name" become "unreachable", since a client
 * would take them for an answer about its target.
 */
export function pathFailure(
  what: string,
  error: PosternError,
  changes: Pick<ErrorOptions, "detail" | "hint"> = {},
): PosternError {
  return withContext(what, error, { ...changes, ...(isOfTarget(error) && { code: "unreachable" }) });
}

/** Whether a failure says something about what was dialed, and nothing about the path there. */
export function isOfTarget({ code }: PosternError): boolean {
  return code === "refused" || code === "name_not_found";
}

/** Why something failed, as the end of a sentence that names what failed. */
export function reasonOf(error: unknown): string {
  return error instanceof PosternError ? error.reason ?? asCause(error.message) : asCause(describe(error));
}

/** A message as the end of another one: a sentence has one "Cannot". */
export function asCause(message: string): string {
  return message.replace(/^Cannot /, "cannot ");
}

/** One line for a log or a person: the message, then the messages of the causes that add something. */
export function describe(error: unknown): string {
  const parts: string[] = [];
  for (let current = error, depth = 0; current !== undefined && current !== null && depth < 5; depth++) {
    const text = current instanceof Error ? current.message || current.name : String(current);
    const known = current instanceof PosternError ? current.reason ?? text : text;
    // The system's own words often repeat the sentence around them: "Connection refused (os error 111)".
    const plain = known.replace(/ \(os error \d+\).*$/s, "").toLowerCase();
    if (!parts.some((part) => part.toLowerCase().includes(plain))) {
      parts.push(parts.length === 0 ? text : asCause(text));
    }
    const cause = current instanceof Error ? current.cause : undefined;
    // A reason is what the system said, in our words.
    const isTold = current instanceof PosternError && current.reason !== undefined;
    current = isTold && !(cause instanceof PosternError) ? undefined : cause;
  }
  return parts.join(": ");
}
