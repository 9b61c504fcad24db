import type { AuthorizationServer, ClientAuth } from "oauth4webapi";
import { PosternError } from "../words/mod.ts";
import { codeQuestion } from "./code_question.ts";
import { fetchWith, type HttpClient } from "../http/mod.ts";
import { isPlainLoopback } from "./oidc_addresses.ts";
import { oidcFailure } from "./oidc_failure.ts";
import type { CallbackPlace, Errand } from "./sign_in_callback.ts";

/** The public client that OpenShift has for command lines since 4.13: no secret, and PKCE. */
export const openShiftClient = "openshift-cli-client";

/** Where that client may send a browser back to: any port of loopback, by its address. */
export const openShiftCallback: CallbackPlace = {
  hosts: ["127.0.0.1"],
  name: "127.0.0.1",
  path: "/callback",
};

/** What OpenShift gives to who has signed in. There is nothing to renew it with but another sign-in. */
export interface OpenShiftToken {
  readonly token: string;
  /** For how many seconds it is good; absent where it does not say. */
  readonly seconds?: number;
}

/** Begins the authorization code flow of that client. */
export async function requestOpenShiftCode(
  server: AuthorizationServer,
  { redirectUri, client: http }: { readonly redirectUri: string; readonly client: HttpClient },
): Promise<Errand<OpenShiftToken>> {
  const { oauth } = await import("./oauth_library.ts");
  const client = { client_id: openShiftClient };
  const { url, state, verifier } = await codeQuestion(oauth, {
    endpoint: server.authorization_endpoint ?? "",
    clientId: openShiftClient,
    redirectUri,
  });
  return {
    url,
    state,
    redeem: async (answer, { signal }) => {
      try {
        const checked = oauth.validateAuthResponse(server, client, answer, state);
        const response = await oauth.authorizationCodeGrantRequest(
          server,
          client,
          withoutSecret,
          checked,
          redirectUri,
          verifier,
          {
            [oauth.customFetch]: fetchWith(http, { signal }),
            [oauth.allowInsecureRequests]: isPlainLoopback(new URL(server.token_endpoint ?? "")),
            signal,
          },
        );
        const { access_token: token, expires_in: seconds } = await oauth
          .processAuthorizationCodeResponse(server, client, response);
        return { result: { token, ...(seconds && { seconds }) }, name: undefined };
      } catch (error) {
        throw refused(oidcFailure(error, server.issuer, oauth, signal));
      }
    },
  };
}

/** Its server wants the client named as one with a secret is, and takes an empty one; as oc sends it. */
const withoutSecret: ClientAuth = (_server, { client_id: id }, body, headers) => {
  body.set("client_id", id);
  headers.set("authorization", `Basic ${btoa(`${id}:`)}`);
};

/** The next thing to try is another one than for the sign-in of a catalogue. */
function refused(error: unknown): unknown {
  if (!(error instanceof PosternError) || error.code !== "auth") return error;
  return error.with({ hint: "run the command again, and sign in as somebody who may use this cluster" });
}
