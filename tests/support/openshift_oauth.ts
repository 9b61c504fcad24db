import { jsonAnswer, type WebAnswer, type WebRequest } from "./web_server.ts";

/** The deviations of an `OpenShiftOAuth` from OpenShift. */
export interface OpenShiftLies {
  /** The query of the browser's redirect instead of a code. */
  redirect?: Readonly<Record<string, string>>;
  /** The answer to requests for the discovery document. */
  discovery?: WebAnswer;
  tokenAnswer?: WebAnswer;
}

interface Code {
  readonly challenge: string;
  readonly redirectUri: string;
}

/**
 * A stand-in for OpenShift's OAuth server, which is not available here. It has the discovery document (RFC
 * 8414, served by the API server), the public client `openshift-cli-client` with redirects to any port of
 * 127.0.0.1, and PKCE S256. Its token endpoint requires the client in an Authorization header with an empty
 * secret. Every visitor of its page counts as signed in.
 */
export class OpenShiftOAuth {
  readonly lies: OpenShiftLies = {};
  /** All queries sent to its page. */
  readonly authorizations: URLSearchParams[] = [];
  /** All forms sent to the token endpoint. */
  readonly tokenRequests: URLSearchParams[] = [];
  /** The lifetime of a token in seconds; undefined omits it from the answer. */
  lifetime: number | undefined = 86_400;
  readonly #issuer: () => string;
  readonly #token: () => string | Promise<string>;
  readonly #codes = new Map<string, Code>();

  /** `issuer` returns its address, `token` creates a token for the signed-in user. */
  constructor(issuer: () => string, token: () => string | Promise<string>) {
    this.#issuer = issuer;
    this.#token = token;
  }

  async answer({ method, url, body, fields }: WebRequest): Promise<WebAnswer> {
    const at = `${method} ${url.pathname}`;
    if (at === "GET /.well-known/oauth-authorization-server") {
      return this.lies.discovery ?? jsonAnswer(this.#metadata());
    }
    if (at === "GET /oauth/authorize") return this.#authorize(url.searchParams);
    if (at === "POST /oauth/token") {
      return await this.#redeem(new URLSearchParams(body), fields.get("authorization"));
    }
    return { status: 404, body: "nothing here" };
  }

  #metadata(): Readonly<Record<string, unknown>> {
    const issuer = this.#issuer();
    return {
      issuer,
      authorization_endpoint: `${issuer}/oauth/authorize`,
      token_endpoint: `${issuer}/oauth/token`,
      scopes_supported: ["user:check-access", "user:full", "user:info", "user:list-projects"],
      response_types_supported: ["code", "token"],
      grant_types_supported: ["authorization_code", "implicit"],
      code_challenge_methods_supported: ["plain", "S256"],
    };
  }

  #authorize(query: URLSearchParams): WebAnswer {
    this.authorizations.push(query);
    const redirectUri = query.get("redirect_uri") ?? "";
    // Redirect only for a known client and its registered addresses.
    if (query.get("client_id") !== "openshift-cli-client" || !isCallback(redirectUri)) {
      return jsonAnswer({ error: "unauthorized_client" }, 400);
    }
    const challenge = query.get("code_challenge") ?? "";
    const isGood = query.get("response_type") === "code" && query.get("code_challenge_method") === "S256" &&
      /^[A-Za-z0-9_-]{43}$/.test(challenge);
    const code = `sha256~code-secret-${crypto.randomUUID()}`;
    this.#codes.set(code, { challenge, redirectUri });
    const to = new URL(redirectUri);
    const brought = isGood ? this.lies.redirect ?? { code } : { error: "invalid_request" };
    to.search = new URLSearchParams({ ...brought, state: query.get("state") ?? "" }).toString();
    return { status: 302, fields: [["Location", to.href]] };
  }

  async #redeem(form: URLSearchParams, authorization: string | undefined): Promise<WebAnswer> {
    this.tokenRequests.push(form);
    if (this.lies.tokenAnswer) return this.lies.tokenAnswer;
    if (authorization !== `Basic ${btoa("openshift-cli-client:")}`) {
      return jsonAnswer({ error: "invalid_request" }, 400);
    }
    const code = this.#codes.get(form.get("code") ?? "");
    this.#codes.delete(form.get("code") ?? "");
    const verifier = new TextEncoder().encode(form.get("code_verifier") ?? "");
    const challenge = base64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", verifier)));
    const isRight = form.get("grant_type") === "authorization_code" && code?.challenge === challenge &&
      code.redirectUri === form.get("redirect_uri");
    if (!isRight) return jsonAnswer({ error: "invalid_grant" }, 400);
    return jsonAnswer({
      access_token: await this.#token(),
      token_type: "Bearer",
      scope: "user:full",
      ...(this.lifetime !== undefined && { expires_in: this.lifetime }),
    });
  }
}

/** Allows any port: RFC 8252, section 7.3. */
function isCallback(uri: string): boolean {
  return /^http:\/\/(?:127\.0\.0\.1|\[::1\]):[0-9]+\/callback$/.test(uri);
}

function base64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
