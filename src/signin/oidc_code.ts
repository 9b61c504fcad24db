import { codeQuestion } from "./code_question.ts";
import { webAddress } from "./oidc_addresses.ts";
import type { OidcProvider } from "./oidc_provider.ts";
import type { StoredTokens } from "./token_cache.ts";

/** One sign-in with a browser. */
export interface CodeRequest {
  /** For the browser. Contains the state, which is valid for this sign-in only. */
  readonly url: URL;
  readonly state: string;
  /** Exchanges the browser's response for tokens; throws `auth` with the reason after a refusal. */
  redeem(answer: URLSearchParams, options: { signal: AbortSignal }): Promise<StoredTokens>;
}

/** Starts the authorization code flow with a random nonce. */
export async function requestCode(
  provider: OidcProvider,
  { redirectUri, scopes }: { redirectUri: string; scopes: readonly string[] },
): Promise<CodeRequest> {
  const { oauth, server, issuer, clientId } = provider;
  const nonce = oauth.generateRandomNonce();
  const { url, state, verifier } = await codeQuestion(oauth, {
    endpoint: webAddress(server.authorization_endpoint ?? "", issuer),
    clientId,
    redirectUri,
    more: { scope: scopes.join(" "), nonce },
  });
  return {
    url,
    state,
    redeem: (answer, { signal }) =>
      provider.tokens(signal, async ({ client, options }) => {
        const checked = oauth.validateAuthResponse(server, client, answer, state);
        const response = await oauth.authorizationCodeGrantRequest(
          server,
          client,
          oauth.None(),
          checked,
          redirectUri,
          verifier,
          options,
        );
        const expected = { expectedNonce: nonce, requireIdToken: true };
        const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, expected);
        return { response, tokens };
      }),
  };
}
