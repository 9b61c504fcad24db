import type { oauth as library } from "./oauth_library.ts";

/** What a browser is sent to ask for, and what shows afterwards that the answer is to this question. */
export interface CodeQuestion {
  /** It holds the state, which counts for this one sign-in only. */
  readonly url: URL;
  readonly state: string;
  /** What only who asked knows. */
  readonly verifier: string;
}

export interface CodeQuestionOptions {
  /** Where people sign in. */
  readonly endpoint: string;
  readonly clientId: string;
  readonly redirectUri: string;
  /** What else is asked. */
  readonly more?: Readonly<Record<string, string>>;
}

/** Begins the authorization code flow with PKCE (RFC 7636) and a state of its own. */
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
