import type { AuthorizationServer } from "oauth4webapi";
import { isMapping } from "../config/mod.ts";
import { jsonIn } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";
import { type HttpClient, placeOf } from "../http/mod.ts";
import { webAddress } from "./oidc_addresses.ts";

/** The path where an OpenShift API server describes its OAuth server (RFC 8414). */
const wellKnown = "/.well-known/oauth-authorization-server";

/**
 * The path that checks a token: it returns the token's user, or 401 for an unknown token on any API server.
 */
const whoAmI = "/apis/user.openshift.io/v1/users/~";

/**
 * Asks the API server of an OpenShift cluster for its OAuth server. That is a different server and only the
 * API server vouches for it, so the request must use TLS.
 */
export async function discoverOpenShift(
  api: URL,
  client: HttpClient,
  { signal }: { signal: AbortSignal },
): Promise<AuthorizationServer> {
  const answer = await client.ask({ url: new URL(wellKnown, api), fields: acceptJson }, { signal });
  const document = answer.status === 200 ? jsonIn(answer.body) : undefined;
  if (!isMapping(document)) {
    throw new PosternError(
      "auth",
      `Cannot sign in to ${api.origin}: the API server names no OAuth server (status ${answer.status})`,
      {
        hint: "if the cluster uses OpenID Connect, describe the sign-in in the fact that authInfoFact names",
      },
    );
  }
  const address = (name: string) => {
    const value = document[name];
    return webAddress(typeof value === "string" ? value : "", placeOf(api));
  };
  return {
    issuer: typeof document["issuer"] === "string" ? document["issuer"] : api.origin,
    authorization_endpoint: address("authorization_endpoint"),
    token_endpoint: address("token_endpoint"),
  };
}

/** Whether the API server still accepts a token. An unreachable server counts as accepting it. */
export async function isTokenTaken(
  api: URL,
  token: string,
  { client, signal }: { readonly client: HttpClient; readonly signal: AbortSignal },
): Promise<boolean> {
  const fields = [...acceptJson, ["Authorization", `Bearer ${token}`] as const];
  const { status } = await client.ask({ url: new URL(whoAmI, api), fields }, { signal });
  return status !== 401;
}

const acceptJson = [["Accept", "application/json"]] as const;
