import { codeQuestion } from "./code_question.ts";
import { webAddress } from "./oidc_addresses.ts";
import type { OidcProvider } from "./oidc_provider.ts";
import type { StoredTokens } from "./token_cache.ts";

/** One sign-in that a browser is sent to do. */
export interface CodeRequest {
  /** For the browser. It holds the state, which counts for this one sign-in only. */
  readonly url: URL;
  readonly state: string;
  /** Makes tokens of what the browser brought back; `auth` with the reason where it brought a refusal. */
  redeem(answer: URLSearchParams, options: { signal: AbortSignal }): Promise<StoredTokens>;
}

/** Begins the authorization code flow with a nonce of its own. */
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
