import { encodeBasic } from "../wire/mod.ts";
import type { AuthorizationServer, ClientAuth } from "oauth4webapi";
import { PosternError } from "../words/mod.ts";
import { codeQuestion } from "./code_question.ts";
import { fetchWith, type HttpClient } from "../http/mod.ts";
import { isPlainLoopback } from "./oidc_addresses.ts";
import { oidcFailure } from "./oidc_failure.ts";
import type { CallbackPlace, Errand } from "./sign_in_callback.ts";

/** OpenShift's public client for command-line programs since 4.13: without a secret, with PKCE. */
export const openShiftClient = "openshift-cli-client";

/** The redirect addresses of that client: any port of loopback, by IP address. */
export const openShiftCallback: CallbackPlace = {
  hosts: ["127.0.0.1"],
  name: "127.0.0.1",
  path: "/callback",
};

/** The response of OpenShift to a sign-in. Only another sign-in can renew it. */
export interface OpenShiftToken {
  readonly token: string;
  /** The lifetime in seconds; absent if the server does not report it. */
  readonly seconds?: number;
}

/** Starts the authorization code flow of that client. */
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

/** Authenticates as OpenShift requires and oc does: like a client with a secret, but with an empty one. */
const withoutSecret: ClientAuth = (_server, { client_id: id }, body, headers) => {
  body.set("client_id", id);
  headers.set("authorization", encodeBasic({ user: id, password: "" }));
};

/** Replaces the hint, which is different for clusters than for catalogues. */
function refused(error: unknown): unknown {
  if (!(error instanceof PosternError) || error.code !== "auth") return error;
  return error.with({ hint: "run the command again, and sign in with an account that may use this cluster" });
}
