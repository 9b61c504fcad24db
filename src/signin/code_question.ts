import type { oauth as library } from "./oauth_library.ts";

/** An authorization request for the browser, with the values that verify its response. */
export interface CodeQuestion {
  /** Contains the state, which is valid for this sign-in only. */
  readonly url: URL;
  readonly state: string;
  /** The PKCE verifier, which only this process knows. */
  readonly verifier: string;
}

export interface CodeQuestionOptions {
  readonly endpoint: string;
  readonly clientId: string;
  readonly redirectUri: string;
  /** Additional parameters. */
  readonly more?: Readonly<Record<string, string>>;
}

/** Starts the authorization code flow with PKCE (RFC 7636) and a random state. */
export async function codeQuestion(
  oauth: typeof library,
  { endpoint, clientId, redirectUri, more }: CodeQuestionOptions,
): Promise<CodeQuestion> {
  const state = oauth.generateRandomState();
  const verifier = oauth.generateRandomCodeVerifier();
  const url = new URL(endpoint);
  const asked = {
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    ...more,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
  return { url, state, verifier };
}
