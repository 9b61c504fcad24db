import { createNetwork } from "../../src/runtime/network/network.ts";
import type { GpgHome, GpgKey } from "./gpg_home.ts";
import { type WebAnswer, type WebRequest, WebServer } from "./web_server.ts";

/** A user account. */
export interface PassboltUser {
  readonly key: GpgKey;
  /** The current one-time code; undefined without a second factor. */
  readonly code?: string;
}

export interface PassboltResource {
  readonly id: string;
  /** The name in plain text; Passbolt 5 encrypts it. */
  readonly name?: string;
  readonly metadata?: {
    readonly data: string;
    readonly keyId: string;
    readonly type: "user_key" | "shared_key";
  };
  /** The decrypted secret. */
  readonly secret: string;
}

/** The deviations of the stand-in. */
export interface PassboltLies {
  /** A replacement of the challenge. */
  challenge?: string;
  /** A fixed answer to every request. */
  answer?: WebAnswer;
}

interface Session {
  readonly user: PassboltUser;
  isVerified: boolean;
}

/**
 * A stand-in for Passbolt that follows its published API (GPGAuth, MFA, resources, secrets, metadata): a real
 * one needs PHP, a database and a mail server. It has the checks of a real one. The real gpg encrypts the
 * challenge, which works once. All data requires a session, and the second factor if the user has one. A POST
 * other than a sign-in must repeat the token of its cookie. Only a POST ends a session.
 */
export class PassboltStandIn implements AsyncDisposable {
  readonly lies: PassboltLies = {};
  /** The requests in order: `GET /resources.json`. */
  readonly asked: string[] = [];
  readonly resources: PassboltResource[] = [];
  /** Shared metadata keys, with the decrypted copy for the user. */
  readonly metadataKeys: { readonly id: string; readonly copy: string }[] = [];
  readonly #server: WebServer;
  readonly #gpg: GpgHome;
  readonly #own: GpgKey;
  readonly #users: readonly PassboltUser[];
  readonly #challenges = new Map<string, PassboltUser>();
  readonly #sessions = new Map<string, Session>();
  readonly #csrf = crypto.randomUUID().replaceAll("-", "");

  /** `own` is the server's unlocked key in `gpg`'s home. */
  constructor(gpg: GpgHome, own: GpgKey, users: readonly PassboltUser[]) {
    this.#gpg = gpg;
    this.#own = own;
    this.#users = users;
    const listening = createNetwork().listen({ host: "127.0.0.1", port: 0 });
    this.#server = new WebServer(listening, (request) => this.#answer(request));
  }

  /** The address with a path, like a tenant of Passbolt's cloud. */
  get url(): string {
    return `http://127.0.0.1:${this.#server.port}/tenant`;
  }

  /** The number of open sessions. */
  get sessions(): number {
    return this.#sessions.size;
  }

  async #answer(request: WebRequest): Promise<WebAnswer> {
    const path = request.url.pathname.replace(/^\/tenant/, "");
    this.asked.push(`${request.method} ${path}`);
    if (this.lies.answer) return this.lies.answer;
    if (path === "/auth/verify.json") return await this.#verify(request);
    if (path === "/auth/login.json") return await this.#login(request);
    const cookies = cookiesOf(request);
    const session = this.#sessions.get(cookies.get("passbolt_session") ?? "");
    if (!session) return failed(403, "You need to login to access this location.");
    if (request.method === "POST") {
      const token = request.fields.get("x-csrf-token");
      if (token !== this.#csrf || cookies.get("csrfToken") !== this.#csrf) {
        return failed(403, "Missing or invalid CSRF cookie.");
      }
    }
    if (path === "/auth/logout.json") {
      if (request.method === "GET") {
        return failed(404, "The logout route should only be accessed with POST method.");
      }
      this.#sessions.delete(cookies.get("passbolt_session") ?? "");
      return { status: 302, fields: [["Location", "/tenant/auth/login"]] };
    }
    if (path === "/mfa/verify/error.json") {
      return this.#withCsrf(failed(403, "MFA authentication is required.", {
        mfa_providers: ["totp"],
        providers: { totp: `${this.url}/mfa/verify/totp.json` },
      }));
    }
    if (path === "/mfa/verify/totp.json") return this.#totp(request, session, cookies);
    const isVerified = session.user.code === undefined || (session.isVerified && cookies.has("passbolt_mfa"));
    if (!isVerified) {
      return { status: 302, fields: [["Location", `${this.url}/mfa/verify/error.json`]] };
    }
    return this.#withCsrf(await this.#shown(path, session.user));
  }

  async #verify({ method, body }: WebRequest): Promise<WebAnswer> {
    const { fingerprint, public: keydata } = this.#own;
    if (method === "GET") return succeeded({ fingerprint, keydata });
    const token: unknown = gpgAuthOf(body).server_verify_token;
    const nonce = await this.#gpg.decrypt(String(token));
    const fields = /^gpgauthv1\.3\.0\|36\|[0-9a-f-]{36}\|gpgauthv1\.3\.0$/.test(nonce)
      ? [["X-GPGAuth-Verify-Response", nonce] as const]
      : [];
    return withFields(failed(403, "The authentication failed."), fields);
  }

  async #login({ body }: WebRequest): Promise<WebAnswer> {
    const { keyid, user_token_result: result } = gpgAuthOf(body);
    const user = this.#users.find(({ key }) => key.fingerprint === keyid);
    if (!user) {
      return withFields(failed(404, "The authentication failed."), [
        ["X-GPGAuth-Debug", "There is no user associated with this key. User not found."],
      ]);
    }
    if (result === undefined) {
      const nonce = `gpgauthv1.3.0|36|${crypto.randomUUID()}|gpgauthv1.3.0`;
      this.#challenges.set(nonce, user);
      const message = await this.#gpg.encrypt(this.lies.challenge ?? nonce, [user.key]);
      return withFields(failed(403, "The authentication failed."), [
        ["X-GPGAuth-Progress", "stage1"],
        ["X-GPGAuth-User-Auth-Token", quotedAsPhp(message)],
      ]);
    }
    const isRight = this.#challenges.get(String(result)) === user;
    this.#challenges.delete(String(result));
    if (!isRight) {
      return withFields(failed(403, "The authentication failed."), [["X-GPGAuth-Progress", "stage2"]]);
    }
    const session = crypto.randomUUID();
    this.#sessions.set(session, { user, isVerified: false });
    return withFields(succeeded(null), [
      ["X-GPGAuth-Progress", "complete"],
      ["X-GPGAuth-Authenticated", "true"],
      ["Set-Cookie", `passbolt_session=${session}; path=/; HttpOnly; SameSite=Lax`],
    ]);
  }

  #totp({ body }: WebRequest, session: Session, cookies: ReadonlyMap<string, string>): WebAnswer {
    if (JSON.parse(body).totp !== session.user.code) {
      return failed(400, "The OTP is not valid.", { totp: { isValidOtp: "This OTP is not valid." } });
    }
    session.isVerified = true;
    return withFields(succeeded(null), [
      ["Set-Cookie", `passbolt_mfa=${cookies.get("passbolt_session")}; path=/; HttpOnly`],
    ]);
  }

  async #shown(path: string, { key }: PassboltUser): Promise<JsonAnswer> {
    if (path === "/resources.json") {
      return succeeded(this.resources.map(({ id, name, metadata }) => ({
        id,
        ...(name !== undefined && { name }),
        ...(metadata && {
          metadata: metadata.data,
          metadata_key_id: metadata.keyId,
          metadata_key_type: metadata.type,
        }),
      })));
    }
    if (path === "/metadata/keys.json") {
      const keys = this.metadataKeys.map(async ({ id, copy }) => ({
        id,
        metadata_private_keys: [{ metadata_key_id: id, data: await this.#gpg.encrypt(copy, [key]) }],
      }));
      return succeeded(await Promise.all(keys));
    }
    const id = /^\/secrets\/resource\/([0-9a-f-]{36})\.json$/.exec(path)?.[1];
    const resource = this.resources.find((one) => one.id === id);
    if (!resource) return failed(404, "The secret does not exist.");
    return succeeded({ resource_id: id, data: await this.#gpg.encrypt(resource.secret, [key]) });
  }

  #withCsrf(answer: JsonAnswer): WebAnswer {
    return withFields(answer, [["Set-Cookie", `csrfToken=${this.#csrf}; path=/`]]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#server[Symbol.asyncDispose]();
  }
}

type JsonAnswer = Exclude<WebAnswer, Uint8Array | "silent">;

function succeeded(body: unknown): JsonAnswer {
  return enveloped(200, "success", "The operation was successful.", body);
}

function failed(status: number, message: string, body: unknown = ""): JsonAnswer {
  return enveloped(status, "error", message, body);
}

function enveloped(code: number, status: string, message: string, body: unknown): JsonAnswer {
  return {
    status: code,
    fields: [["Content-Type", "application/json"]],
    body: JSON.stringify({ header: { status, code, message }, body }),
  };
}

function withFields(answer: JsonAnswer, fields: readonly (readonly [string, string])[]): JsonAnswer {
  return { ...answer, fields: [...answer.fields ?? [], ...fields] };
}

function cookiesOf({ fields }: WebRequest): ReadonlyMap<string, string> {
  return new Map(
    (fields.get("cookie") ?? "").split(/; */).map((pair) => pair.split(/=(.*)/s)).map((
      [name = "", value = ""],
    ) => [name, value] as const),
  );
}

function gpgAuthOf(body: string): Record<string, unknown> {
  return JSON.parse(body).data.gpg_auth;
}

/** Quotes like `quotemeta(urlencode(…))` in PHP. */
function quotedAsPhp(text: string): string {
  return encodeURIComponent(text).replaceAll("%20", "+").replace(/[.\\+*?[\]^$()]/g, "\\$&");
}
