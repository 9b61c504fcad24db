import type { AuthorizationServer, Client, HttpRequestOptions, TokenEndpointResponse } from "oauth4webapi";
import type { Clock } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";
import { fetchWith, type HttpClient, placeOf } from "../http/mod.ts";
import type { oauth as library } from "./oauth_library.ts";
import { isPlainLoopback, issuerOf, wellKnown } from "./oidc_addresses.ts";
import { notOpenId, offlineAccess, oidcFailure, OidcRefusal } from "./oidc_failure.ts";
import type { StoredTokens } from "./token_cache.ts";

type Library = typeof library;

export interface OidcProviderOptions {
  /** The URL of the discovery document, or of the issuer. */
  readonly discoveryUrl: string;
  readonly clientId: string;
  /** Default: openid, email, profile and offline_access. */
  readonly scopes?: readonly string[];
}

export interface OidcProviderParts {
  readonly clock: Clock;
  readonly client: HttpClient;
}

/** The arguments of one request to the library. */
export interface OidcCall {
  readonly oauth: Library;
  readonly server: AuthorizationServer;
  readonly client: Client;
  readonly options: HttpRequestOptions<"POST", URLSearchParams>;
}

/** A response of the token endpoint, and the library's result. */
export interface OidcAnswer {
  readonly response: Response;
  readonly tokens: TokenEndpointResponse;
}

const usualScopes = ["openid", "email", "profile", offlineAccess];

/**
 * An OpenID provider for a public client. All tokens come through `tokens`, which has the id_token checked:
 * issuer, audience, times and signature.
 */
export class OidcProvider {
  readonly issuer: string;
  readonly oauth: Library;
  readonly server: AuthorizationServer;
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly #parts: OidcProviderParts;

  private constructor(
    issuer: string,
    { oauth, server }: Pick<OidcCall, "oauth" | "server">,
    { clientId, scopes = usualScopes }: OidcProviderOptions,
    parts: OidcProviderParts,
  ) {
    this.issuer = issuer;
    this.oauth = oauth;
    this.server = server;
    this.clientId = clientId;
    // A provider that lists its scopes may refuse others.
    const known = server.scopes_supported;
    this.scopes = scopes.filter((scope) => scope !== offlineAccess || !known || known.includes(scope));
    this.#parts = parts;
  }

  /** Reads the discovery document of a provider. */
  static async discover(
    options: OidcProviderOptions,
    parts: OidcProviderParts,
    { signal }: { signal: AbortSignal },
  ): Promise<OidcProvider> {
    const expected = issuerOf(options.discoveryUrl);
    const url = new URL(`${expected}${wellKnown}`);
    if (url.protocol !== "https:" && !isPlainLoopback(url)) {
      throw new PosternError(
        "config",
        `Cannot sign in at ${placeOf(new URL(expected))}: the URL does not use https`,
        {
          hint: "change the URL to https://; without TLS, an attacker could read and change the sign-in",
        },
      );
    }
    const { oauth } = await import("./oauth_library.ts");
    try {
      const response = await fetchWith(parts.client, { signal })(url.href, {
        headers: { accept: "application/json" },
      });
      const own = await issuerIn(response.clone());
      // The library accepts any text as a URL.
      if (typeof own === "string" && !URL.canParse(own)) throw notOpenId(expected);
      // A trailing slash belongs to the issuer's name, but not to the URL built from it.
      const issuer = own === `${expected}/` ? own : expected;
      const server = await oauth.processDiscoveryResponse(new URL(issuer), response);
      return new OidcProvider(expected, { oauth, server }, options, parts);
    } catch (error) {
      throw oidcFailure(error, expected, oauth, signal);
    }
  }

  /** Calls the library and converts its failures into errors of postern. */
  async call<T>(signal: AbortSignal, work: (call: OidcCall) => Promise<T>): Promise<T> {
    const { oauth, server } = this;
    const client = {
      client_id: this.clientId,
      [oauth.clockSkew]: Math.round((this.#parts.clock.date().getTime() - Date.now()) / 1000),
      [oauth.clockTolerance]: 30,
    };
    try {
      return await work({ oauth, server, client, options: this.#options(signal) });
    } catch (error) {
      throw oidcFailure(error, this.issuer, oauth, signal);
    }
  }

  /**
   * Extracts the tokens of a response. The library does not check the signature, nor that there is an
   * id_token.
   */
  async tokens(signal: AbortSignal, ask: (call: OidcCall) => Promise<OidcAnswer>): Promise<StoredTokens> {
    return await this.call(signal, async (call) => {
      const { response, tokens } = await ask(call);
      if (tokens.id_token === undefined) {
        throw new OidcRefusal(`Cannot sign in at ${this.issuer}: the provider returned no id_token`, {
          hint: "configure the client at the provider for OpenID Connect with the scope openid",
        });
      }
      await call.oauth.validateApplicationLevelSignature(call.server, response, this.#options(signal));
      const refreshToken = tokens.refresh_token;
      return { idToken: tokens.id_token, ...(refreshToken !== undefined && { refreshToken }) };
    });
  }

  #options(signal: AbortSignal) {
    const { oauth } = this;
    return {
      [oauth.customFetch]: fetchWith(this.#parts.client, { signal }),
      [oauth.allowInsecureRequests]: isPlainLoopback(new URL(this.server.issuer)),
      signal,
    };
  }
}

async function issuerIn(response: Response): Promise<unknown> {
  try {
    const document: unknown = await response.json();
    return (document as { issuer?: unknown } | null)?.issuer;
  } catch {
    // The library reports the problem later.
    return undefined;
  }
}
