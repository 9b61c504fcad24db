import { describe, PosternError } from "../words/mod.ts";
import type { Dialer, World } from "../world/mod.ts";
import { type Log, within } from "../core/mod.ts";
import { commodoreTokens } from "./commodore_tokens.ts";
import { HttpClient } from "../http/mod.ts";
import { issuerOf } from "./oidc_addresses.ts";
import { isRefreshRefused } from "./oidc_failure.ts";
import { OidcProvider } from "./oidc_provider.ts";
import { refreshTokens, revokeToken } from "./oidc_refresh.ts";
import { isBrowserAsked } from "./open_browser.ts";
import { isFresh, readClaims } from "./sign_in_claims.ts";
import { signInByBrowser, signInByDevice } from "./sign_in_person.ts";
import { keyUrl, type StoredTokens, TokenCache, type TokenKey } from "./token_cache.ts";
import { TokenRefusal } from "./token_refusal.ts";

export interface SignInOptions {
  /** The API of the tokens; tokens of different APIs are stored separately. */
  readonly apiUrl: string;
  readonly clientId: string;
  /** The URL of the provider's discovery document. */
  readonly discoveryUrl: string;
  /** PEM certificates to trust in addition to the system's. */
  readonly ca?: string | undefined;
  /** How the user signs in: with a browser, with a code on another device, or not at all, as in a daemon. */
  readonly method?: "browser" | "device" | "none";
  /** Whether to ask the user even without a terminal. */
  readonly asksAnyway?: boolean;
  /** Time limit for the user, in ms; default: 5 minutes. */
  readonly timeLimit?: number;
  /** Default: 18000, the registered port. */
  readonly port?: number | undefined;
  readonly scopes?: readonly string[];
  /** A token that the API rejected and that must not be returned again. */
  readonly refused?: string;
  /** Whether the user must sign in even if a token is stored. */
  readonly isAnew?: boolean;
}

export interface SignInParts {
  readonly world: Pick<World, "clock" | "files" | "network" | "places" | "process" | "terminal">;
  readonly log: Log;
  /** Connects to the provider; default: directly. */
  readonly dial?: Dialer | undefined;
  /** Shows a text to the user; default: on stderr. */
  readonly say?: ((text: string) => Promise<void>) | undefined;
}

export interface SignedIn {
  /** The bearer token for the API. It must not appear in logs and messages. */
  readonly idToken: string;
  readonly expires: Date | undefined;
  /** The user's name in the token. */
  readonly name: string | undefined;
  /** The source of the token. */
  readonly from: "cache" | "commodore" | "refresh" | "person";
}

/** How long a daemon waits for another process's sign-in, in ms, before it continues without. */
const silentPatience = 30_000;
/** How long a sign-out waits for another process that renews the tokens, in ms. */
const renewing = 5000;

/**
 * Returns a token for an API: a stored one, one from commodore, a renewed one, or one from a sign-in. Throws
 * `auth` if none is available. If several processes need one, only one of them signs in, and the others use
 * its token.
 */
export async function signIn(
  options: SignInOptions,
  parts: SignInParts,
  { signal }: { signal: AbortSignal },
): Promise<SignedIn> {
  return await new SignIn(options, parts).run(signal);
}

/**
 * Calls `use` with a token. If `use` throws a `TokenRefusal`, because the token was revoked or is not for
 * this API, it gets another token and retries once; a token from a new sign-in is not retried.
 */
export async function withSignIn<T>(
  options: SignInOptions,
  parts: SignInParts,
  { signal }: { signal: AbortSignal },
  use: (signedIn: SignedIn) => Promise<T>,
): Promise<T> {
  const first = await signIn(options, parts, { signal });
  try {
    return await use(first);
  } catch (error) {
    if (first.from === "person" || !(error instanceof TokenRefusal)) throw error;
    parts.log.info("sign_in.refused", { from: first.from, reason: describe(error) });
  }
  // Renewing a just renewed token again would not help.
  const isAnew = first.from === "refresh";
  return await use(await signIn({ ...options, refused: first.idToken, isAnew }, parts, { signal }));
}

/**
 * Removes the tokens of an API, and revokes them at the provider if it supports that and is reachable. False
 * if there were none. Tokens in commodore's file stay and remain usable.
 */
export async function signOut(
  options: Pick<SignInOptions, "apiUrl" | "ca" | "clientId" | "discoveryUrl">,
  { world, log, dial }: Omit<SignInParts, "say">,
  { signal }: { signal: AbortSignal },
): Promise<boolean> {
  const cache = new TokenCache(world, log);
  const key = tokenKey(options);
  // A process that is renewing the tokens would store them again afterwards; a user's sign-in may take
  // longer.
  using _turn = await cache.turn(key, { clock: world.clock, signal, patience: renewing });
  const tokens = await cache.read(key);
  // Remove the local tokens first, so that a network failure cannot prevent it.
  await cache.forget(key);
  if (tokens?.refreshToken === undefined) return tokens !== undefined;
  try {
    const provider = await discover(options, { world, log, dial }, {
      signal,
      timeout: 5000,
    });
    const isRevoked = await revokeToken(provider, tokens.refreshToken, { signal });
    log.info("sign_in.signed_out", { revoked: isRevoked });
  } catch (error) {
    signal.throwIfAborted();
    log.warn("sign_in.not_revoked", { reason: describe(error) });
  }
  return true;
}

async function discover(
  options: Pick<SignInOptions, "ca" | "clientId" | "discoveryUrl" | "scopes">,
  { world: { clock, network }, dial }: SignInParts,
  { signal, timeout }: { signal: AbortSignal; timeout?: number },
): Promise<OidcProvider> {
  const { ca } = options;
  const client = new HttpClient({ clock, network, dial }, { ca, timeout });
  return await OidcProvider.discover(options, { clock, client }, { signal });
}

function tokenKey(
  { discoveryUrl, clientId, apiUrl }: Pick<SignInOptions, "apiUrl" | "clientId" | "discoveryUrl">,
) {
  return { issuer: issuerOf(discoveryUrl), clientId, apiUrl: keyUrl(apiUrl) };
}

class SignIn {
  readonly #options: SignInOptions;
  readonly #parts: SignInParts;
  readonly #cache: TokenCache;
  readonly #key: TokenKey;
  readonly #issuer: string;

  constructor(options: SignInOptions, parts: SignInParts) {
    this.#options = options;
    this.#parts = parts;
    this.#cache = new TokenCache(parts.world, parts.log);
    this.#key = tokenKey(options);
    this.#issuer = this.#key.issuer;
  }

  async run(signal: AbortSignal): Promise<SignedIn> {
    const known = await this.#stored();
    if (known) return known;
    const { method = "browser", timeLimit = 5 * 60_000 } = this.#options;
    const ms = method === "none" ? Math.min(timeLimit, silentPatience) : timeLimit;
    const error = () =>
      new PosternError(
        "timeout",
        `Cannot sign in at ${this.#issuer}: no sign-in within ${Math.round(ms / 1000)} s`,
        {
          exit: 5,
          hint: "try again; without a browser, run: postern login --device",
        },
      );
    const { clock } = this.#parts.world;
    return await within({ clock, ms, signal, error }, async (signal) => {
      using _turn = await this.#cache.turn(this.#key, { clock, signal, onWait: () => this.#tellWaiting() });
      return await this.#stored() ?? await this.#signIn(signal);
    });
  }

  /** A usable token from the cache or from commodore. */
  async #stored(): Promise<SignedIn | undefined> {
    if (this.#options.isAnew) return undefined;
    const { world, log } = this.#parts;
    const own = await this.#cache.read(this.#key);
    if (own && this.#isUsable(own)) return signedIn(own, "cache");
    const others = await commodoreTokens(this.#key.apiUrl, world, log);
    return others && this.#isUsable(others) ? signedIn(others, "commodore") : undefined;
  }

  #isUsable({ idToken }: StoredTokens): boolean {
    const claims = readClaims(idToken);
    return claims !== undefined && idToken !== this.#options.refused && this.#isOurs({ idToken }) &&
      isFresh(claims, this.#parts.world.clock.date());
  }

  /** Whether a token was issued by this provider for this client; any other must not be sent to this API. */
  #isOurs({ idToken }: StoredTokens): boolean {
    const claims = readClaims(idToken);
    return claims?.issuer?.replace(/\/+$/, "") === this.#issuer &&
      claims.audience.includes(this.#key.clientId);
  }

  async #signIn(signal: AbortSignal): Promise<SignedIn> {
    const { world, log } = this.#parts;
    const { method = "browser", port, asksAnyway = isBrowserAsked(world.process) } = this.#options;
    const provider = await discover(this.#options, this.#parts, { signal });
    const renewed = this.#options.isAnew ? undefined : await this.#renewed(provider, signal);
    if (renewed) return signedIn(renewed, "refresh");
    const hasTerminal = world.terminal.isInput || world.terminal.isErrorOutput;
    if (method === "none" || !(hasTerminal || asksAnyway)) {
      throw new PosternError(
        "auth",
        `Cannot sign in at ${this.#issuer}: the sign-in needs a user at a terminal`,
        {
          hint: "sign in once in a terminal: postern login",
        },
      );
    }
    const say = this.#say;
    const tokens = method === "device"
      ? await signInByDevice(provider, { world, say }, { signal })
      : await signInByBrowser(provider, { world, log, say }, { signal, port });
    await this.#cache.keep(this.#key, tokens);
    return signedIn(tokens, "person");
  }

  /** Renews the tokens of an earlier sign-in, of postern or commodore. */
  async #renewed(provider: OidcProvider, signal: AbortSignal): Promise<StoredTokens | undefined> {
    const { world, log } = this.#parts;
    const candidates = [
      await this.#cache.read(this.#key),
      await commodoreTokens(this.#key.apiUrl, world, log),
    ];
    for (const candidate of candidates) {
      const { idToken, refreshToken } = candidate ?? {};
      if (idToken === undefined || refreshToken === undefined || !this.#isOurs({ idToken })) continue;
      try {
        const keep = (refreshToken: string) => this.#cache.keep(this.#key, { idToken, refreshToken });
        const tokens = await refreshTokens(provider, { idToken, refreshToken }, { signal, keep });
        await this.#cache.keep(this.#key, tokens);
        return tokens;
      } catch (error) {
        if (!isRefreshRefused(error)) throw error;
        log.info("sign_in.refresh_refused", { reason: describe(error) });
      }
    }
    return undefined;
  }

  get #say(): (text: string) => Promise<void> {
    const { say, world } = this.#parts;
    return say ?? ((text) => world.terminal.err(text));
  }

  /** Tells the user about another sign-in, which may wait in a forgotten browser window. */
  async #tellWaiting(): Promise<void> {
    if (this.#options.method === "none") return;
    await this.#say(`postern: waiting for another postern process that is signing in at ${this.#issuer}\n`);
  }
}

function signedIn(tokens: StoredTokens, from: SignedIn["from"]): SignedIn {
  const { expires, name } = readClaims(tokens.idToken) ?? {};
  return { idToken: tokens.idToken, expires, name, from };
}
