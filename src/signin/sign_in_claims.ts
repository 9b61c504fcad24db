import { isMapping } from "../config/mod.ts";

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
    issuer: textOf(iss),
    audience: (Array.isArray(aud) ? aud : [aud]).filter((one) => typeof one === "string"),
    subject: textOf(sub),
    name: shownName(claims["email"]) ?? shownName(claims["preferred_username"]) ?? shownName(sub),
    expires: expires && !Number.isNaN(expires.getTime()) ? expires : undefined,
  };
}

/** Whether a token is good for a while yet. */
export function isFresh({ expires }: Pick<TokenClaims, "expires">, now: Date): boolean {
  return expires !== undefined && expires.getTime() - margin > now.getTime();
}

function decoded(part: string): unknown {
  try {
    const binary = atob(part.replaceAll("-", "+").replaceAll("_", "/"));
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(binary, (char) => char.charCodeAt(0))));
  } catch {
    // Its caller says what is wrong, without the token.
    return undefined;
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** A terminal obeys some characters. */
function shownName(value: unknown): string | undefined {
  return textOf(value)?.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, "?").slice(0, 200);
}
