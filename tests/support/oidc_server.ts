import type { Clock } from "../../src/core/mod.ts";
import type { Listening } from "../../src/world/mod.ts";
import { jsonAnswer, type WebAnswer, type WebRequest, WebServer } from "./web_server.ts";

/** The deviations of an `OidcServer` from the standard. */
export interface OidcLies {
  /** Claims that replace the right ones; undefined removes one. */
  claims?: Readonly<Record<string, unknown>>;
  /** Whether it signs with an unpublished key. */
  signsWithOtherKey?: boolean;
  /** The header's algorithm, without any signature. */
  unsignedAs?: string;
  /** Replacement fields of the discovery document. */
  metadata?: Readonly<Record<string, unknown>>;
  /** Refuses requests for offline access, at the page or at the token endpoint. */
  refusesOffline?: "page" | "token";
  /** The answer of the token endpoint. */
  tokenAnswer?: WebAnswer;
  /** The query of the browser's redirect instead of a code. */
  redirect?: Readonly<Record<string, string>>;
  /** Replacement fields of the device response. */
  deviceAnswer?: Readonly<Record<string, unknown>>;
  /** The answers to a polling device, in order; then the tokens. */
  deviceAnswers?: WebAnswer[];
}

interface Code {
  readonly isOffline: boolean;
  readonly nonce: string | null;
  readonly challenge: string;
  readonly redirectUri: string;
}

/** A fake OpenID provider for one public client, "lieutenant", that can deviate in every answer. */
export class OidcServer implements AsyncDisposable {
  readonly issuer: string;
  readonly lies: OidcLies = {};
  /** All forms sent to the token endpoint. */
  readonly tokenRequests: URLSearchParams[] = [];
  /** The time of each form. */
  readonly tokenTimes: number[] = [];
  /** All queries sent to the authorization endpoint. */
  readonly authorizations: URLSearchParams[] = [];
  /** The user who signs in. */
  subject = "alice";
  /** Valid refresh tokens; each works once. */
  readonly refreshTokens = new Set<string>();
  /** The lifetime of an id_token in seconds. */
  lifetime = 3600;
  readonly #server: WebServer;
  readonly #clock: Clock;
  readonly #codes = new Map<string, Code>();
  #keys: Promise<CryptoKeyPair> | undefined;
  #count = 0;

  constructor(listening: Listening, { issuer, clock }: { issuer?: string; clock: Clock }) {
    this.#clock = clock;
    this.#server = new WebServer(listening, (request) => this.#answer(request));
    this.issuer = issuer ?? `http://127.0.0.1:${this.#server.port}/oidc`;
  }

  /** The loopback port, independent of the issuer. */
  get port(): number {
    return this.#server.port;
  }

  get discoveryUrl(): string {
    return `${this.issuer}/.well-known/openid-configuration`;
  }

  /** The number of requests. */
  get asked(): number {
    return this.#server.requests.length;
  }

  /** Creates an id_token like the token endpoint. */
  async idToken(claims: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const now = Math.floor(this.#clock.date().getTime() / 1000);
    const all = {
      iss: this.issuer,
      aud: "lieutenant",
      sub: this.subject,
      email: `${this.subject}@example.com`,
      iat: now,
      exp: now + this.lifetime,
      // Makes tokens of the same second distinct.
      jti: String(++this.#count),
      ...claims,
      ...this.lies.claims,
    };
    const { unsignedAs, signsWithOtherKey } = this.lies;
    const header = base64Url(JSON.stringify({ alg: unsignedAs ?? "ES256", kid: "1", typ: "JWT" }));
    const text = `${header}.${base64Url(JSON.stringify(all))}`;
    if (unsignedAs !== undefined) return `${text}.`;
    const { privateKey } = signsWithOtherKey ? await newKeys() : await this.#keyPair();
    const signature = await crypto.subtle.sign(
      { name: "ECDSA", hash: "SHA-256" },
      privateKey,
      new TextEncoder().encode(text),
    );
    return `${text}.${base64Url(new Uint8Array(signature))}`;
  }

  #keyPair(): Promise<CryptoKeyPair> {
    return this.#keys ??= newKeys();
  }

  async #answer({ url, body }: WebRequest): Promise<WebAnswer> {
    const path = url.pathname.slice(new URL(this.issuer).pathname.replace(/\/$/, "").length);
    if (path === "/.well-known/openid-configuration") return jsonAnswer(this.#metadata());
    if (path === "/keys") return jsonAnswer({ keys: [await this.#publicKey()] });
    if (path === "/auth") return this.#authorize(url.searchParams);
    if (path === "/token") return await this.#token(new URLSearchParams(body));
    if (path === "/revoke") {
      this.refreshTokens.delete(new URLSearchParams(body).get("token") ?? "");
      return {};
    }
    if (path === "/device") {
      return jsonAnswer(
        this.lies.deviceAnswer ?? {
          device_code: "device-secret",
          user_code: "WDJB-MJHT",
          verification_uri: `${this.issuer}/activate`,
          expires_in: 60,
          interval: 5,
        },
      );
    }
    return { status: 404, body: "nothing here" };
  }

  #metadata(): Readonly<Record<string, unknown>> {
    return {
      issuer: this.issuer,
      authorization_endpoint: `${this.issuer}/auth`,
      token_endpoint: `${this.issuer}/token`,
      device_authorization_endpoint: `${this.issuer}/device`,
      revocation_endpoint: `${this.issuer}/revoke`,
      jwks_uri: `${this.issuer}/keys`,
      response_types_supported: ["code"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["ES256"],
      scopes_supported: ["openid", "email", "profile", "offline_access"],
      ...this.lies.metadata,
    };
  }

  async #publicKey(): Promise<Readonly<Record<string, unknown>>> {
    const jwk = await crypto.subtle.exportKey("jwk", (await this.#keyPair()).publicKey);
    return { kty: jwk.kty, crv: jwk.crv, x: jwk.x, y: jwk.y, kid: "1", use: "sig", alg: "ES256" };
  }

  #authorize(query: URLSearchParams): WebAnswer {
    this.authorizations.push(query);
    const redirectUri = query.get("redirect_uri") ?? "";
    const to = new URL(redirectUri);
    const code = `code-secret-${++this.#count}`;
    const isOffline = query.get("scope")?.includes("offline_access") ?? false;
    const redirect = this.lies.refusesOffline === "page" && isOffline
      ? { error: "invalid_scope" }
      : this.lies.redirect;
    this.#codes.set(code, {
      isOffline,
      nonce: query.get("nonce"),
      challenge: query.get("code_challenge") ?? "",
      redirectUri,
    });
    to.search = new URLSearchParams({ ...(redirect ?? { code }), state: query.get("state") ?? "" })
      .toString();
    return { status: 302, fields: [["Location", to.href]] };
  }

  async #token(form: URLSearchParams): Promise<WebAnswer> {
    this.tokenRequests.push(form);
    this.tokenTimes.push(this.#clock.now());
    if (this.lies.tokenAnswer) return this.lies.tokenAnswer;
    switch (form.get("grant_type")) {
      case "authorization_code": {
        const code = this.#codes.get(form.get("code") ?? "");
        this.#codes.delete(form.get("code") ?? "");
        const verifier = new TextEncoder().encode(form.get("code_verifier") ?? "");
        const challenge = base64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", verifier)));
        if (code?.challenge !== challenge || code.redirectUri !== form.get("redirect_uri")) {
          return jsonAnswer({ error: "invalid_grant", error_description: "no such code" }, 400);
        }
        if (this.lies.refusesOffline === "token" && code.isOffline) {
          return jsonAnswer({ error: "not_allowed", error_description: "Offline tokens not allowed" }, 400);
        }
        return await this.#tokens({ nonce: code.nonce });
      }
      case "refresh_token":
        return this.refreshTokens.delete(form.get("refresh_token") ?? "")
          ? await this.#tokens({})
          : jsonAnswer({ error: "invalid_grant", error_description: "it was revoked" }, 400);
      default:
        return this.lies.deviceAnswers?.shift() ?? await this.#tokens({});
    }
  }

  async #tokens(claims: Readonly<Record<string, unknown>>): Promise<WebAnswer> {
    const refreshToken = `refresh-secret-${++this.#count}`;
    this.refreshTokens.add(refreshToken);
    return jsonAnswer({
      access_token: "access-secret",
      token_type: "bearer",
      expires_in: this.lifetime,
      refresh_token: refreshToken,
      id_token: await this.idToken(claims),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
  }
}

function newKeys(): Promise<CryptoKeyPair> {
  return crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign", "verify"]);
}

function base64Url(content: string | Uint8Array): string {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
