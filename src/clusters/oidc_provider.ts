import type { Client, HttpRequestOptions, TokenEndpointResponse } from "oauth4webapi";
import { type Clock, PosternError } from "../core/mod.ts";
import { type HttpClient, placeOf } from "./http_client.ts";
import { fetchWith } from "./http_fetch.ts";
import type { oauth as library } from "./oauth_library.ts";
import { isPlainLoopback, issuerOf, webAddress, wellKnown } from "./oidc_addresses.ts";
import { oidcFailure } from "./oidc_failure.ts";
import { readClaims } from "./sign_in_claims.ts";
import type { StoredTokens } from "./token_cache.ts";

type Library = typeof library;
type Server = Awaited<ReturnType<Library["processDiscoveryResponse"]>>;

export interface OidcProviderOptions {
  /** The address of the discovery document, or the issuer's own. */
  readonly discoveryUrl: string;
  readonly clientId: string;
  /** openid, email, profile and offline_access unless told. */
  readonly scopes?: readonly string[];
}

export interface OidcProviderParts {
  readonly clock: Clock;
  readonly client: HttpClient;
}

interface Signal {
  readonly signal: AbortSignal;
}

/** One sign-in that a browser is sent to do. */
export interface CodeRequest {
  /** For the browser. It holds the state, which counts for this one sign-in only. */
  readonly url: URL;
  readonly state: string;
  /** Makes tokens of what the browser brought back; `auth` with the reason where it brought a refusal. */
  redeem(answer: URLSearchParams, options: Signal): Promise<StoredTokens>;
}

/** One sign-in that a person does on some other device (RFC 8628). */
export interface DeviceRequest {
  /** Where the person goes. */
  readonly url: string;
  /** What the person types there. */
  readonly userCode: string;
  /** The same place, with the code filled in. */
  readonly completeUrl: string | undefined;
  /** How long it counts, in ms. */
  readonly expires: number;
  /** How long to wait between two questions, in ms. */
  readonly interval: number;
  /** The tokens, once the person has signed in. */
  ask(options: Signal): Promise<StoredTokens | "pending" | "slow_down">;
}

const usualScopes = ["openid", "email", "profile", "offline_access"];

/**
 * An OpenID provider, as a public client uses it. Every id_token it gives is checked: issuer, audience, times, nonce
 * and signature.
 */
export class OidcProvider {
  readonly issuer: string;
  readonly #oauth: Library;
  readonly #server: Server;
  readonly #client: Client;
  readonly #parts: OidcProviderParts;
  readonly #scopes: readonly string[];
  readonly #isPlain: boolean;

  private constructor(
    issuer: string,
    oauth: Library,
    server: Server,
    { clientId, scopes = usualScopes }: OidcProviderOptions,
    parts: OidcProviderParts,
  ) {
    this.issuer = issuer;
    this.#oauth = oauth;
    this.#server = server;
    this.#parts = parts;
    this.#isPlain = isPlainLoopback(new URL(server.issuer));
    // One that lists what it knows may refuse a request for more.
    const known = server.scopes_supported;
    this.#scopes = scopes.filter((scope) => scope !== "offline_access" || !known || known.includes(scope));
    this.#client = {
      client_id: clientId,
      [oauth.clockSkew]: Math.round((parts.clock.date().getTime() - Date.now()) / 1000),
      [oauth.clockTolerance]: 30,
    };
  }

  /** Reads what a provider says of itself. */
  static async discover(
    options: OidcProviderOptions,
    parts: OidcProviderParts,
    { signal }: Signal,
  ): Promise<OidcProvider> {
    const expected = issuerOf(options.discoveryUrl);
    const url = new URL(`${expected}${wellKnown}`);
    if (url.protocol !== "https:" && !isPlainLoopback(url)) {
      throw new PosternError("config", `Cannot sign in at ${placeOf(new URL(expected))}: it is not https`, {
        hint: "a sign-in without TLS can be read and changed on its way",
      });
    }
    const { oauth } = await import("./oauth_library.ts");
    try {
      const response = await fetchWith(parts.client, { signal })(url.href, {
        headers: { accept: "application/json" },
      });
      const own = await issuerIn(response.clone());
      // A slash at the end is part of an issuer's name, but not of the address that was made of it.
      const issuer = own === `${expected}/` ? own : expected;
      const server = await oauth.processDiscoveryResponse(new URL(issuer), response);
      return new OidcProvider(expected, oauth, server, options, parts);
    } catch (error) {
      throw oidcFailure(error, expected, oauth, signal);
    }
  }

  /** The authorization code flow with PKCE (RFC 7636), a state and a nonce of its own. */
  async requestCode(redirectUri: string): Promise<CodeRequest> {
    const oauth = this.#oauth;
    const state = oauth.generateRandomState();
    const nonce = oauth.generateRandomNonce();
    const verifier = oauth.generateRandomCodeVerifier();
    const url = this.#pageUrl("authorization_endpoint");
    const asked = {
      response_type: "code",
      client_id: this.#client.client_id,
      redirect_uri: redirectUri,
      scope: this.#scopes.join(" "),
      state,
      nonce,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
    };
    for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
    return {
      url,
      state,
      redeem: (answer, { signal }) =>
        this.#tokens({ signal }, async (options) => {
          const checked = oauth.validateAuthResponse(this.#server, this.#client, answer, state);
          const response = await oauth.authorizationCodeGrantRequest(
            this.#server,
            this.#client,
            oauth.None(),
            checked,
            redirectUri,
            verifier,
            options,
          );
          const tokens = await oauth.processAuthorizationCodeResponse(this.#server, this.#client, response, {
            expectedNonce: nonce,
            requireIdToken: true,
          });
          return { response, tokens };
        }),
    };
  }

  /** New tokens for a refresh token, of the same person as `former`. */
  async refresh(
    { refreshToken, idToken: former }: Required<StoredTokens>,
    { signal }: Signal,
  ): Promise<StoredTokens> {
    const oauth = this.#oauth;
    const { idToken, refreshToken: next } = await this.#tokens({ signal }, async (options) => {
      const response = await oauth.refreshTokenGrantRequest(
        this.#server,
        this.#client,
        oauth.None(),
        refreshToken,
        options,
      );
      return {
        response,
        tokens: await oauth.processRefreshTokenResponse(this.#server, this.#client, response),
      };
    });
    // OpenID Connect Core, section 12.2.
    if (readClaims(idToken)?.subject !== readClaims(former)?.subject) {
      throw new PosternError("auth", `Cannot take the new token of ${this.issuer}: it is for somebody else`);
    }
    return { idToken, refreshToken: next ?? refreshToken };
  }

  /** Tells the provider that a refresh token is not needed any more (RFC 7009); false where it takes no such word. */
  async revoke(refreshToken: string, { signal }: Signal): Promise<boolean> {
    const oauth = this.#oauth;
    if (this.#server.revocation_endpoint === undefined) return false;
    await this.#failing(signal, async (options) => {
      const parameters = { token_type_hint: "refresh_token" };
      const response = await oauth.revocationRequest(this.#server, this.#client, oauth.None(), refreshToken, {
        ...options,
        additionalParameters: parameters,
      });
      await oauth.processRevocationResponse(response);
    });
    return true;
  }

  /** The first step of the device flow. */
  async requestDevice({ signal }: Signal): Promise<DeviceRequest> {
    const oauth = this.#oauth;
    if (this.#server.device_authorization_endpoint === undefined) {
      throw new PosternError(
        "auth",
        `Cannot sign in at ${this.issuer} with a code: it offers no device flow`,
        {
          hint: "sign in with a browser, or give a token that was fetched elsewhere",
        },
      );
    }
    const parameters = { scope: this.#scopes.join(" ") };
    const begun = await this.#failing(signal, async (options) => {
      const response = await oauth.deviceAuthorizationRequest(
        this.#server,
        this.#client,
        oauth.None(),
        parameters,
        options,
      );
      return await oauth.processDeviceAuthorizationResponse(this.#server, this.#client, response);
    });
    if (!/^[\x21-\x7e]{1,64}$/.test(begun.user_code)) {
      throw new PosternError("protocol", `Cannot sign in at ${this.issuer}: its code is no text to type`);
    }
    const complete = begun.verification_uri_complete;
    return {
      url: webAddress(begun.verification_uri, this.issuer),
      userCode: begun.user_code,
      completeUrl: complete === undefined ? undefined : webAddress(complete, this.issuer),
      expires: begun.expires_in * 1000,
      interval: (begun.interval ?? 5) * 1000,
      ask: (options) => this.#askDevice(begun.device_code, options),
    };
  }

  async #askDevice(deviceCode: string, { signal }: Signal): Promise<StoredTokens | "pending" | "slow_down"> {
    const oauth = this.#oauth;
    let wait: "pending" | "slow_down" | undefined;
    try {
      return await this.#tokens({ signal }, async (options) => {
        try {
          const response = await oauth.deviceCodeGrantRequest(
            this.#server,
            this.#client,
            oauth.None(),
            deviceCode,
            options,
          );
          return {
            response,
            tokens: await oauth.processDeviceCodeResponse(this.#server, this.#client, response),
          };
        } catch (error) {
          if (error instanceof oauth.ResponseBodyError && error.error === "authorization_pending") {
            wait = "pending";
          }
          if (error instanceof oauth.ResponseBodyError && error.error === "slow_down") wait = "slow_down";
          throw error;
        }
      });
    } catch (error) {
      if (wait !== undefined) return wait;
      throw error;
    }
  }

  /** The one way to tokens: what the library has not checked by itself is the signature, and that there is an id_token. */
  async #tokens(
    { signal }: Signal,
    fetch: (
      options: HttpRequestOptions<"POST", URLSearchParams>,
    ) => Promise<{ response: Response; tokens: TokenEndpointResponse }>,
  ): Promise<StoredTokens> {
    return await this.#failing(signal, async (options) => {
      const { response, tokens } = await fetch(options);
      if (tokens.id_token === undefined) {
        throw new PosternError("auth", `Cannot sign in at ${this.issuer}: it gave no id_token`, {
          hint: "the client has to be one of OpenID Connect, with the scope openid",
        });
      }
      await this.#oauth.validateApplicationLevelSignature(
        this.#server,
        response,
        this.#options("GET", signal),
      );
      const refreshToken = tokens.refresh_token;
      return { idToken: tokens.id_token, ...(refreshToken !== undefined && { refreshToken }) };
    });
  }

  async #failing<T>(
    signal: AbortSignal,
    work: (options: HttpRequestOptions<"POST", URLSearchParams>) => Promise<T>,
  ): Promise<T> {
    try {
      return await work(this.#options("POST", signal));
    } catch (error) {
      throw oidcFailure(error, this.issuer, this.#oauth, signal);
    }
  }

  #options<Method extends "GET" | "POST">(
    _method: Method,
    signal: AbortSignal,
  ): HttpRequestOptions<Method, Method extends "POST" ? URLSearchParams : undefined> {
    return {
      [this.#oauth.customFetch]: fetchWith(this.#parts.client, { signal }),
      [this.#oauth.allowInsecureRequests]: this.#isPlain,
      signal,
    };
  }

  #pageUrl(endpoint: "authorization_endpoint"): URL {
    return new URL(webAddress(this.#server[endpoint] ?? "", this.issuer));
  }
}

async function issuerIn(response: Response): Promise<unknown> {
  try {
    const document: unknown = await response.json();
    return (document as { issuer?: unknown } | null)?.issuer;
  } catch {
    // The library says what is wrong with it.
    return undefined;
  }
}
