import type { AuthorizationServer } from "oauth4webapi";
import { isMapping } from "../config/mod.ts";
import { jsonIn } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";
import { type HttpClient, placeOf } from "../http/mod.ts";
import { webAddress } from "./oidc_addresses.ts";

/** Where an API server of OpenShift says who signs people in (RFC 8414). */
const wellKnown = "/.well-known/oauth-authorization-server";

/** What a token is checked with: who it is of. Any API server answers 401 there to a token that it does not know. */
const whoAmI = "/apis/user.openshift.io/v1/users/~";

/**
 * Asks the API server of an OpenShift cluster who signs people in. That is another server than itself, so its word for
 * it is all there is: it has to be asked over TLS.
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
      `Cannot sign in to ${api.origin}: it does not say where (status ${answer.status})`,
      { hint: "it may sign people in with OpenID Connect: tell how by the fact that authInfoFact names" },
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

/** Whether the API server still takes a token. Whoever cannot be asked has not refused it. */
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
