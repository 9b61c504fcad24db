import { PosternError } from "../../core/mod.ts";
import type { OidcProvider } from "./oidc_provider.ts";
import { readClaims } from "./sign_in_claims.ts";
import type { StoredTokens } from "./token_cache.ts";

/** New tokens for a refresh token, of the same person as the former id_token. */
export async function refreshTokens(
  provider: OidcProvider,
  { refreshToken, idToken: former }: Required<Pick<StoredTokens, "idToken" | "refreshToken">>,
  { signal }: { signal: AbortSignal },
): Promise<StoredTokens> {
  const renewed = await provider.tokens(signal, async ({ oauth, server, client, options }) => {
    const response = await oauth.refreshTokenGrantRequest(
      server,
      client,
      oauth.None(),
      refreshToken,
      options,
    );
    return { response, tokens: await oauth.processRefreshTokenResponse(server, client, response) };
  });
  // OpenID Connect Core, section 12.2.
  if (readClaims(renewed.idToken)?.subject !== readClaims(former)?.subject) {
    throw new PosternError(
      "auth",
      `Cannot take the new token of ${provider.issuer}: it is for somebody else`,
      { hint: "sign in again: postern login" },
    );
  }
  // Not every provider gives another refresh token each time.
  return { refreshToken, ...renewed };
}

/** Tells the provider that a refresh token is not needed any more (RFC 7009); false where it takes no such word. */
export async function revokeToken(
  provider: OidcProvider,
  refreshToken: string,
  { signal }: { signal: AbortSignal },
): Promise<boolean> {
  if (provider.server.revocation_endpoint === undefined) return false;
  await provider.call(signal, async ({ oauth, server, client, options }) => {
    const told = { ...options, additionalParameters: { token_type_hint: "refresh_token" } };
    const response = await oauth.revocationRequest(server, client, oauth.None(), refreshToken, told);
    await oauth.processRevocationResponse(response);
  });
  return true;
}
