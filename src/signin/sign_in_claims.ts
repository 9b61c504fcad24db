import { decodeBase64, jsonIn } from "../core/mod.ts";
import { asText, isMapping } from "../config/mod.ts";

/** The claims of an id_token, with an unchecked signature: use them to choose a token, not to trust it. */
export interface TokenClaims {
  readonly issuer: string | undefined;
  readonly audience: readonly string[];
  readonly subject: string | undefined;
  /** The user's name, safe to display. */
  readonly name: string | undefined;
  readonly expires: Date | undefined;
}

/**
 * A token that expires within this time, in ms, counts as expired: it needs time to arrive, and clocks
 * differ.
 */
const margin = 10_000;

/** The claims of a JWT (RFC 7519); undefined for any other text. */
export function readClaims(token: string): TokenClaims | undefined {
  const [, payload, signature, ...more] = token.split(".");
  if (payload === undefined || signature === undefined || more.length > 0) return undefined;
  const claims = decoded(payload);
  if (!isMapping(claims)) return undefined;
  const { iss, aud, sub, exp } = claims;
  const expires = typeof exp === "number" ? new Date(exp * 1000) : undefined;
  return {
    issuer: asText(iss),
    audience: (Array.isArray(aud) ? aud : [aud]).filter((one) => typeof one === "string"),
    subject: asText(sub),
    name: shownName(claims["email"]) ?? shownName(claims["preferred_username"]) ?? shownName(sub),
    expires: expires && !Number.isNaN(expires.getTime()) ? expires : undefined,
  };
}

/** Whether a token is valid for some more time. */
export function isFresh({ expires }: Pick<TokenClaims, "expires">, now: Date): boolean {
  return expires !== undefined && expires.getTime() - margin > now.getTime();
}

/** Undefined if the part is not JSON; the caller reports that without showing the token. */
function decoded(part: string): unknown {
  return jsonIn(decodeBase64(part.replaceAll("-", "+").replaceAll("_", "/")) ?? "");
}

/** Replaces terminal control characters. */
function shownName(value: unknown): string | undefined {
  return asText(value)?.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, "?").slice(0, 200);
}
