import { decodeBase64, jsonIn } from "../core/mod.ts";
import { asText, isMapping } from "../config/mod.ts";

/** What an id_token says of itself. Nobody has checked its signature: good for choosing one, not for trusting it. */
export interface TokenClaims {
  readonly issuer: string | undefined;
  readonly audience: readonly string[];
  readonly subject: string | undefined;
  /** Who it is, in a person's words, and fit to be shown. */
  readonly name: string | undefined;
  readonly expires: Date | undefined;
}

/** How long before its end a token counts as expired, in ms: it has to arrive, and clocks differ. */
const margin = 10_000;

/** The claims of a JWT (RFC 7519); undefined when it is none. */
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

/** Whether a token is good for a while yet. */
export function isFresh({ expires }: Pick<TokenClaims, "expires">, now: Date): boolean {
  return expires !== undefined && expires.getTime() - margin > now.getTime();
}

/** Undefined for what is no JSON: the caller says so, without the token. */
function decoded(part: string): unknown {
  return jsonIn(decodeBase64(part.replaceAll("-", "+").replaceAll("_", "/")) ?? "");
}

/** A terminal obeys some characters. */
function shownName(value: unknown): string | undefined {
  return asText(value)?.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, "?").slice(0, 200);
}
