import { PosternError } from "../words/mod.ts";
import { webAddress } from "./oidc_addresses.ts";
import type { OidcProvider } from "./oidc_provider.ts";
import type { StoredTokens } from "./token_cache.ts";

/** One sign-in on another device (RFC 8628). */
export interface DeviceRequest {
  /** The URL that the user opens. */
  readonly url: string;
  /** The code that the user types there. */
  readonly userCode: string;
  /** The same URL with the code in it. */
  readonly completeUrl: string | undefined;
  /** How long the code is valid, in ms. */
  readonly expires: number;
  /** The pause between two requests, in ms. */
  readonly interval: number;
  /** Returns the tokens after the user has signed in. */
  ask(options: { signal: AbortSignal }): Promise<StoredTokens | "pending" | "slow_down">;
}

/** Makes the first request of the device flow. */
export async function requestDevice(
  provider: OidcProvider,
  { scopes, signal }: { scopes: readonly string[]; signal: AbortSignal },
): Promise<DeviceRequest> {
  const { issuer } = provider;
  const begun = await provider.call(signal, async ({ oauth, server, client, options }) => {
    if (server.device_authorization_endpoint === undefined) {
      throw new PosternError(
        "auth",
        `Cannot sign in at ${issuer} with a code: the provider offers no device flow`,
        {
          hint: "sign in with a browser, or provide a token: --token-file FILE",
        },
      );
    }
    const parameters = { scope: scopes.join(" ") };
    const response = await oauth.deviceAuthorizationRequest(
      server,
      client,
      oauth.None(),
      parameters,
      options,
    );
    return await oauth.processDeviceAuthorizationResponse(server, client, response);
  });
  if (!/^[\x21-\x7e]{1,64}$/.test(begun.user_code)) {
    throw new PosternError("protocol", `Cannot sign in at ${issuer}: its code contains invalid characters`);
  }
  const complete = begun.verification_uri_complete;
  return {
    url: webAddress(begun.verification_uri, issuer),
    userCode: begun.user_code,
    completeUrl: complete === undefined ? undefined : webAddress(complete, issuer),
    expires: begun.expires_in * 1000,
    interval: (begun.interval ?? 5) * 1000,
    ask: ({ signal }) => askDevice(provider, begun.device_code, signal),
  };
}

async function askDevice(
  provider: OidcProvider,
  deviceCode: string,
  signal: AbortSignal,
): Promise<StoredTokens | "pending" | "slow_down"> {
  let wait: "pending" | "slow_down" | undefined;
  try {
    return await provider.tokens(signal, async ({ oauth, server, client, options }) => {
      try {
        const response = await oauth.deviceCodeGrantRequest(
          server,
          client,
          oauth.None(),
          deviceCode,
          options,
        );
        return { response, tokens: await oauth.processDeviceCodeResponse(server, client, response) };
      } catch (error) {
        const says = error instanceof oauth.ResponseBodyError ? error.error : "";
        if (says === "authorization_pending") wait = "pending";
        if (says === "slow_down") wait = "slow_down";
        throw error;
      }
    });
  } catch (error) {
    if (wait !== undefined) return wait;
    throw error;
  }
}
