import { isMapping } from "../config/mod.ts";
import { jsonIn } from "../core/mod.ts";
import { isRefreshRefused, OidcRefusal } from "./oidc_failure.ts";
import type { OidcProvider } from "./oidc_provider.ts";
import { readClaims } from "./sign_in_claims.ts";
import type { StoredTokens } from "./token_cache.ts";

export interface RefreshOptions {
  readonly signal: AbortSignal;
  /** Stores a one-time refresh token whose accompanying id_token is unusable. */
  readonly keep: (refreshToken: string) => Promise<void>;
}

/** Exchanges a refresh token for new tokens; they must belong to the same user as the former id_token. */
export async function refreshTokens(
  provider: OidcProvider,
  former: Required<Pick<StoredTokens, "idToken" | "refreshToken">>,
  { signal, keep }: RefreshOptions,
): Promise<StoredTokens> {
  let next: string | undefined;
  try {
    const renewed = await provider.tokens(signal, async ({ oauth, server, client, options }) => {
      const response = await oauth.refreshTokenGrantRequest(
        server,
        client,
        oauth.None(),
        former.refreshToken,
        options,
      );
      next = await refreshTokenIn(response.clone());
      return { response, tokens: await oauth.processRefreshTokenResponse(server, client, response) };
    });
    demandSamePerson(renewed, { former, issuer: provider.issuer });
    // Not every provider returns a new refresh token each time.
    return { refreshToken: former.refreshToken, ...renewed };
  } catch (error) {
    if (next !== undefined && !isRefreshRefused(error)) await keep(next);
    throw error;
  }
}

/** OpenID Connect Core, section 12.2. */
function demandSamePerson(
  renewed: StoredTokens,
  { former, issuer }: { readonly former: StoredTokens; readonly issuer: string },
): void {
  if (readClaims(renewed.idToken)?.subject === readClaims(former.idToken)?.subject) return;
  throw new OidcRefusal(`Cannot accept the new token of ${issuer}: it belongs to another user`);
}

async function refreshTokenIn(response: Response): Promise<string | undefined> {
  const document = jsonIn(await response.text());
  const token = isMapping(document) ? document["refresh_token"] : undefined;
  return typeof token === "string" ? token : undefined;
}

/** Revokes a refresh token at the provider (RFC 7009); false if the provider does not support it. */
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
