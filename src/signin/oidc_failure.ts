import { PosternError } from "../words/mod.ts";
import type { oauth as library } from "./oauth_library.ts";

/**
 * A provider's error response (RFC 6749, sections 4.1.2.1 and 5.2), or tokens that cannot be trusted. A retry
 * would return the same.
 */
export class OidcRefusal extends PosternError {
  /** The error code, if there is one: `access_denied`. */
  readonly word: string;

  constructor(message: string, { word = "", hint = hintFor(word) }: { word?: string; hint?: string } = {}) {
    super("auth", message, { hint });
    this.word = word;
  }
}

/**
 * Whether a provider refused a token that outlives the session. Keycloak answers `not_allowed` if the client
 * or user may not have one, and returns a shorter-lived token to clients that do not request it.
 */
export function isOfflineRefused(error: unknown, scopes: readonly string[]): boolean {
  return error instanceof OidcRefusal && scopes.includes(offlineAccess) &&
    (error.word === "invalid_scope" || error.word === "not_allowed");
}

/** The scope for refresh tokens that outlive the session (OpenID Connect Core, section 11). */
export const offlineAccess = "offline_access";

/**
 * Converts an error of the library. Its cause may contain responses with tokens, so only its message and the
 * provider's description are kept.
 */
export function oidcFailure(
  error: unknown,
  issuer: string,
  oauth: typeof library,
  signal: AbortSignal,
): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof PosternError || !(error instanceof Error)) return error;
  const what = `Cannot sign in at ${issuer}`;
  const status = statusOf(error) ?? 0;
  if (status >= 500 || status === 429) {
    return new PosternError("unreachable", `${what}: the provider returned ${status}`, {
      hint: "try again later",
    });
  }
  if (error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError) {
    const { error: word, error_description: said } = error;
    // The library does not check the type of this value.
    const described = typeof said === "string" ? `: ${plainText(said)}` : "";
    return new OidcRefusal(`${what}: ${plainText(word)}${described}`, { word });
  }
  if (error instanceof oauth.WWWAuthenticateChallengeError) {
    return new OidcRefusal(`${what}: the provider returned ${error.status}`, { word: "invalid_client" });
  }
  const { code } = error as { code?: unknown };
  if (code === oauth.JWT_TIMESTAMP_CHECK) {
    return new PosternError("auth", `${what}: its token is not valid at the current time`, {
      hint: "check the clock of this machine",
    });
  }
  if (
    code === oauth.RESPONSE_IS_NOT_JSON || code === oauth.PARSE_ERROR ||
    code === oauth.RESPONSE_IS_NOT_CONFORM
  ) {
    return notOpenId(issuer);
  }
  if (typeof code !== "string" || !code.startsWith("OAUTH_")) return error;
  // These messages name claims and fields, but never values.
  return new OidcRefusal(`${what}: ${plainText(error.message)}`, {
    hint: "report this to the provider's administrator",
  });
}

/** The status of a response that the library rejected; undefined if there was no response. */
function statusOf(error: Error): number | undefined {
  if (error.cause instanceof Response) return error.cause.status;
  return "status" in error && typeof error.status === "number" ? error.status : undefined;
}

/** The error for a response from another server, or an unusable one. */
export function notOpenId(issuer: string): PosternError {
  return new PosternError(
    "protocol",
    `Cannot sign in at ${issuer}: its response is not OpenID Connect`,
    { hint: "check the discovery URL, and that no other sign-in page intercepts it" },
  );
}

/**
 * Whether the provider rejected the refresh token, so that a new sign-in helps. A wrong clock or a refusal on
 * the path does not count.
 */
export function isRefreshRefused(error: unknown): boolean {
  return error instanceof OidcRefusal;
}

/** An untrusted text on one short line, without terminal control characters. */
function plainText(text: string): string {
  const plain = text.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, " ").trim();
  return plain.length > 300 ? `${plain.slice(0, 300)}…` : plain;
}

function hintFor(error: string): string {
  switch (error) {
    case "access_denied":
      return "sign in again with an account that has access: postern login";
    case "invalid_scope":
      return "allow the requested scopes for the client at the provider";
    case "invalid_client":
    case "unauthorized_client":
      return "check clientId: the provider must list it as a public client";
    case "expired_token":
      return "start the sign-in again: the code has expired";
    default:
      return "sign in again: postern login";
  }
}
