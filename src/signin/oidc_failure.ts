import { PosternError } from "../words/mod.ts";
import type { oauth as library } from "./oauth_library.ts";

/**
 * What a provider answers instead of tokens (RFC 6749, sections 4.1.2.1 and 5.2), or what of its tokens cannot be
 * trusted. To ask for the same once more helps nobody.
 */
export class OidcRefusal extends PosternError {
  /** The word for it, where it has one: `access_denied`. */
  readonly word: string;

  constructor(message: string, { word = "", hint = hintFor(word) }: { word?: string; hint?: string } = {}) {
    super("auth", message, { hint });
    this.word = word;
  }
}

/**
 * Whether a provider did not like that a token was asked for that outlives the person's session. Keycloak says
 * `not_allowed` where the client or the person may not have one, and gives a shorter one to whoever does not ask.
 */
export function isOfflineRefused(error: unknown, scopes: readonly string[]): boolean {
  return error instanceof OidcRefusal && scopes.includes(offlineAccess) &&
    (error.word === "invalid_scope" || error.word === "not_allowed");
}

/** The scope for refresh tokens that outlive the session (OpenID Connect Core, section 11). */
export const offlineAccess = "offline_access";

/**
 * A failure of the library as one of ours. What it keeps as a cause may hold answers with tokens, or quote them: only
 * its sentence, and what the provider says for people, are taken over.
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
    return new PosternError("unreachable", `${what}: it answered ${status}`, { hint: "try again later" });
  }
  if (error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError) {
    const { error: word, error_description: said } = error;
    // Nobody has looked at what kind of value that is.
    const described = typeof said === "string" ? `: ${plainText(said)}` : "";
    return new OidcRefusal(`${what}: ${plainText(word)}${described}`, { word });
  }
  if (error instanceof oauth.WWWAuthenticateChallengeError) {
    return new OidcRefusal(`${what}: it answered ${error.status}`, { word: "invalid_client" });
  }
  const { code } = error as { code?: unknown };
  if (code === oauth.JWT_TIMESTAMP_CHECK) {
    return new PosternError("auth", `${what}: its token is not valid at this time`, {
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
  // These sentences name claims and fields, never their values.
  return new OidcRefusal(`${what}: ${plainText(error.message)}`, {
    hint: "its answer cannot be trusted: tell whoever runs it",
  });
}

/** Of the answer that the library could not use; undefined where there was none. */
function statusOf(error: Error): number | undefined {
  if (error.cause instanceof Response) return error.cause.status;
  return "status" in error && typeof error.status === "number" ? error.status : undefined;
}

/** Somebody else has answered, or nothing that can be used. */
export function notOpenId(issuer: string): PosternError {
  return new PosternError(
    "protocol",
    `Cannot sign in at ${issuer}: its answer is not one of OpenID Connect`,
    { hint: "check the discovery URL, and that no other sign-in page stands in between" },
  );
}

/**
 * Whether a failure tells that a refresh token is not good any more: a new sign-in helps. That the clock is wrong, or
 * that somebody on the way refuses us, tells nothing of it.
 */
export function isRefreshRefused(error: unknown): boolean {
  return error instanceof OidcRefusal;
}

/** Somebody else's words: on one line, short, without characters that a terminal obeys. */
function plainText(text: string): string {
  const plain = text.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, " ").trim();
  return plain.length > 300 ? `${plain.slice(0, 300)}…` : plain;
}

function hintFor(error: string): string {
  switch (error) {
    case "access_denied":
      return "sign in again, as somebody who may: postern login";
    case "invalid_scope":
      return "the client at the provider does not allow a scope that postern asks for";
    case "invalid_client":
    case "unauthorized_client":
      return "check the client's id: it must be a public client there";
    case "expired_token":
      return "the code was not used in time: begin again";
    default:
      return "sign in again: postern login";
  }
}
