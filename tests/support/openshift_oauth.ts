import { jsonAnswer, type WebAnswer, type WebRequest } from "./web_server.ts";

/** What an `OpenShiftOAuth` does besides what it should. */
export interface OpenShiftLies {
  /** What the browser is sent back with, in place of a code. */
  redirect?: Readonly<Record<string, string>>;
  /** The answer to who asks where to sign in. */
  discovery?: WebAnswer;
  tokenAnswer?: WebAnswer;
}

interface Code {
  readonly challenge: string;
  readonly redirectUri: string;
}

/**
 * A stand-in for OpenShift's own OAuth server, since none can be had here: its discovery document (RFC 8414, served by
 * the API server), the public client `openshift-cli-client` with its redirect to any port of 127.0.0.1, PKCE S256, and
 * a token endpoint that wants the client named in an Authorization header, with an empty secret. Whoever comes to its
 * page is somebody who is signed in already.
 */
export class OpenShiftOAuth {
  readonly lies: OpenShiftLies = {};
  /** Every query that its page got. */
  readonly authorizations: URLSearchParams[] = [];
  /** Every form that the token endpoint got. */
  readonly tokenRequests: URLSearchParams[] = [];
  /** For how many seconds a token is good; undefined has it not say. */
  lifetime: number | undefined = 86_400;
  readonly #issuer: () => string;
  readonly #token: () => string | Promise<string>;
  readonly #codes = new Map<string, Code>();

  /** `issuer` is where it is, `token` makes what it gives to who has signed in. */
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
    // Nobody is sent anywhere who is not a client, or from where that client does not say.
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

/** Any port: RFC 8252, section 7.3. */
function isCallback(uri: string): boolean {
  return /^http:\/\/(?:127\.0\.0\.1|\[::1\]):[0-9]+\/callback$/.test(uri);
}

function base64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
