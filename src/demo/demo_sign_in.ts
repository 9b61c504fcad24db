import { encodeBase64, sha256 } from "../core/mod.ts";
import type { PageRequest, PageResponse } from "../listeners/mod.ts";

/** An authorization code with the values that must match it. */
interface Code {
  readonly nonce: string;
  readonly challenge: string;
  readonly redirectUri: string;
}

/** The only user of the demo. */
const person = "you@demo.internal";
export const clientId = "lieutenant";

/**
 * A simulated OpenID provider with one client and one user, who needs no password. It implements the real
 * protocol: code with PKCE, nonce, signed tokens.
 */
export class DemoSignIn {
  readonly #issuer: string;
  readonly #date: () => Date;
  readonly #keys: CryptoKeyPair;
  readonly #codes = new Map<string, Code>();
  readonly #tokens = new Set<string>();

  private constructor(issuer: string, date: () => Date, keys: CryptoKeyPair) {
    this.#issuer = issuer;
    this.#date = date;
    this.#keys = keys;
  }

  static async open(issuer: string, date: () => Date): Promise<DemoSignIn> {
    const keys = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, [
      "sign",
      "verify",
    ]);
    return new DemoSignIn(issuer, date, keys);
  }

  /** Whether it issued this token. */
  knows(token: string): boolean {
    return this.#tokens.has(token);
  }

  /** A page by its path below the issuer; undefined if it does not exist. */
  async page(path: string, { query, body }: PageRequest): Promise<PageResponse | undefined> {
    if (path === "/.well-known/openid-configuration") return jsonAnswer(this.#metadata());
    if (path === "/keys") return jsonAnswer({ keys: [await this.#publicKey()] });
    if (path === "/auth") return this.#sendBack(query);
    if (path === "/token") return await this.#redeem(new URLSearchParams(new TextDecoder().decode(body)));
    return undefined;
  }

  #metadata() {
    return {
      issuer: this.#issuer,
      authorization_endpoint: `${this.#issuer}/auth`,
      token_endpoint: `${this.#issuer}/token`,
      jwks_uri: `${this.#issuer}/keys`,
      response_types_supported: ["code"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["ES256"],
      scopes_supported: ["openid", "email", "profile"],
    };
  }

  #sendBack(query: URLSearchParams): PageResponse {
    const said = (name: string) => query.get(name) ?? "";
    const code = crypto.randomUUID();
    const redirectUri = said("redirect_uri");
    this.#codes.set(code, { nonce: said("nonce"), challenge: said("code_challenge"), redirectUri });
    const to = URL.parse(redirectUri);
    if (said("client_id") !== clientId || !to) return jsonAnswer({ error: "invalid_request" }, 400);
    to.search = new URLSearchParams({ code, state: said("state") }).toString();
    return { status: 302, fields: [["Location", to.href]], body: "" };
  }

  async #redeem(form: URLSearchParams): Promise<PageResponse> {
    const given = form.get("code") ?? "";
    const code = this.#codes.get(given);
    this.#codes.delete(given);
    const challenge = base64Url(await sha256(form.get("code_verifier") ?? ""));
    if (code?.challenge !== challenge || code.redirectUri !== form.get("redirect_uri")) {
      return jsonAnswer({ error: "invalid_grant" }, 400);
    }
    const idToken = await this.#idToken(code.nonce);
    this.#tokens.add(idToken);
    return jsonAnswer({ access_token: crypto.randomUUID(), token_type: "bearer", id_token: idToken });
  }

  async #idToken(nonce: string): Promise<string> {
    const now = Math.floor(this.#date().getTime() / 1000);
    const claims = {
      iss: this.#issuer,
      aud: clientId,
      sub: person,
      email: person,
      nonce,
      iat: now,
      exp: now + 3600,
    };
    const text = [{ alg: "ES256", kid: "demo", typ: "JWT" }, claims]
      .map((part) => base64Url(new TextEncoder().encode(JSON.stringify(part)))).join(".");
    const signature = await crypto.subtle.sign(
      { name: "ECDSA", hash: "SHA-256" },
      this.#keys.privateKey,
      new TextEncoder().encode(text),
    );
    return `${text}.${base64Url(new Uint8Array(signature))}`;
  }

  async #publicKey() {
    const { kty, crv, x, y } = await crypto.subtle.exportKey("jwk", this.#keys.publicKey);
    return { kty, crv, x, y, kid: "demo", use: "sig", alg: "ES256" };
  }
}

export function jsonAnswer(value: unknown, status = 200): PageResponse {
  return { status, fields: [["Content-Type", "application/json"]], body: JSON.stringify(value) };
}

function base64Url(bytes: Uint8Array): string {
  return encodeBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
