import { isMapping } from "../config/mod.ts";
import { jsonIn } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";
import { type HttpAnswer, type HttpClient, placeOf } from "../http/mod.ts";
import { shownText } from "../clusters/mod.ts";

export interface PassboltSessionOptions {
  readonly url: URL;
  readonly client: HttpClient;
  /** Returns a one-time code; `tried` is the number of rejected codes. */
  readonly code: (tried: number) => Promise<string>;
}

/** An API response without its envelope. */
export interface PassboltAnswer {
  readonly isSuccess: boolean;
  readonly message: string;
  readonly body: unknown;
  readonly http: HttpAnswer;
}

interface AskOptions {
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly signal: AbortSignal;
}

/** Maximum number of cookies, and maximum length of each in characters. */
const mostCookies = 20;
const mostCookie = 4096;

/** Maximum size of a response in bytes; a list of all visible resources can be long. */
const mostBytes = 32 * 1024 * 1024;

/** A session with a Passbolt: cookies, CSRF token and second factor. */
export class PassboltSession {
  readonly #options: PassboltSessionOptions;
  readonly #cookies = new Map<string, string>();
  #isVerified = false;

  constructor(options: PassboltSessionOptions) {
    this.#options = options;
  }

  get url(): URL {
    return this.#options.url;
  }

  /** Fetches a body that needs a sign-in; sends the second factor if the server requires one. */
  async get(path: string, { signal }: { signal: AbortSignal }): Promise<unknown> {
    let answer = await this.ask("GET", path, { signal });
    if (wantsCode(answer) && !this.#isVerified) {
      await this.#verify(answer, signal);
      this.#isVerified = true;
      answer = await this.ask("GET", path, { signal });
    }
    if (answer.isSuccess) return answer.body;
    throw refused(answer);
  }

  /** Makes one request and returns its response, including failures. */
  async ask(method: "GET" | "POST", path: string, options: AskOptions): Promise<PassboltAnswer> {
    const http = await this.#exchange(method, path, options);
    // The server requests the second factor by a redirect to an error page.
    const location = URL.parse(http.fields.get("location") ?? "", http.url.href);
    if (
      http.status === 302 && location?.pathname.endsWith(askingForCode) && location.origin === this.url.origin
    ) {
      return answerOf(await this.#exchange("GET", askingForCode, options));
    }
    return answerOf(http);
  }

  /** Ends the session; the server answers with a redirect to its sign-in page. */
  async signOut({ signal }: { signal: AbortSignal }): Promise<void> {
    const http = await this.#exchange("POST", "/auth/logout.json", { signal });
    if (http.status >= 400) throw refused(answerOf(http));
  }

  async #exchange(method: "GET" | "POST", path: string, { body, signal }: AskOptions): Promise<HttpAnswer> {
    const { client, url } = this.#options;
    const csrf = this.#cookies.get("csrfToken");
    const cookies = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const http = await client.ask({
      url: new URL(`${url.href.replace(/\/$/, "")}${path}`),
      method,
      limit: mostBytes,
      fields: [
        ["Accept", "application/json"],
        ...(cookies === "" ? [] : [["Cookie", cookies] as const]),
        ...(csrf === undefined ? [] : [["X-CSRF-Token", csrf] as const]),
        ...(body === undefined ? [] : [["Content-Type", "application/json"] as const]),
      ],
      ...(method === "POST" && { body: body === undefined ? "" : JSON.stringify(body) }),
    }, { signal });
    this.#keepCookies(http);
    return http;
  }

  #keepCookies({ fields }: HttpAnswer): void {
    for (const line of fields.all("set-cookie")) {
      const [, name = "", value = ""] = /^\s*([^=;\s]+)=([^;]*)/.exec(line) ?? [];
      if (name === "" || line.length > mostCookie || /[^\x21-\x7e]/.test(value)) continue;
      if (this.#cookies.has(name) || this.#cookies.size < mostCookies) this.#cookies.set(name, value.trim());
    }
  }

  async #verify({ body }: PassboltAnswer, signal: AbortSignal): Promise<void> {
    const providers = isMapping(body) && isMapping(body.providers) ? Object.keys(body.providers) : [];
    if (!providers.includes("totp")) {
      const wanted = providers.length === 0 ? "a second factor" : shownText(providers.join(", "));
      throw new PosternError("auth", `Cannot sign in to ${placeOf(this.url)}: it requires ${wanted}`, {
        hint: "set up one-time codes (TOTP) in your Passbolt; postern supports no other second factor",
      });
    }
    for (let tried = 0;; tried++) {
      const totp = await this.#options.code(tried);
      const answer = await this.ask("POST", "/mfa/verify/totp.json", { body: { totp }, signal });
      if (answer.isSuccess) return;
      if (answer.http.status !== 400) throw refused(answer);
    }
  }
}

/** The redirect target when the second factor is missing. */
const askingForCode = "/mfa/verify/error.json";

function wantsCode({ http, body }: PassboltAnswer): boolean {
  return http.status === 403 && isMapping(body) && isMapping(body.providers);
}

function answerOf(http: HttpAnswer): PassboltAnswer {
  const value = jsonIn(http.body);
  const header = isMapping(value) ? value.header : undefined;
  if (!isMapping(value) || !isMapping(header)) {
    throw new PosternError(
      "protocol",
      `Cannot read the answer of ${
        placeOf(http.url)
      }: it does not come from Passbolt (status ${http.status})`,
      { hint: "check emergency.passbolt.url" },
    );
  }
  const message = typeof header.message === "string" ? header.message : "";
  return { isSuccess: header.status === "success" && http.status < 300, message, body: value.body, http };
}

function refused({ http, message }: PassboltAnswer): PosternError {
  const said = message === "" ? `status ${http.status}` : `${shownText(message)}, status ${http.status}`;
  const isOurs = http.status === 401 || http.status === 403;
  return new PosternError(
    isOurs ? "auth" : "protocol",
    `Cannot read ${placeOf(http.url)}: Passbolt refuses the request (${said})`,
  );
}
