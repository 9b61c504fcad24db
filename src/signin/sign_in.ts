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
  /** For which API; tokens are kept apart by it. */
  readonly apiUrl: string;
  readonly clientId: string;
  /** The address of the provider's discovery document. */
  readonly discoveryUrl: string;
  /** PEM certificates trusted besides the system's. */
  readonly ca?: string | undefined;
  /** How a person may be asked: with a browser, with a code for another device, or not at all, as in a daemon. */
  readonly method?: "browser" | "device" | "none";
  /** Whether a person may be asked although no terminal is there. */
  readonly asksAnyway?: boolean;
  /** How long a person has, in ms; 5 minutes unless told. */
  readonly timeLimit?: number;
  /** In place of 18000, which is what is registered. */
  readonly port?: number | undefined;
  readonly scopes?: readonly string[];
  /** A token that the API did not take: it is not given again. */
  readonly refused?: string;
  /** Whether a person has to sign in, whatever is stored. */
  readonly isAnew?: boolean;
}

export interface SignInParts {
  readonly world: Pick<World, "clock" | "files" | "network" | "places" | "process" | "terminal">;
  readonly log: Log;
  /** How the provider is reached; straight unless told. */
  readonly dial?: Dialer | undefined;
  /** Says something to the person; on stderr unless told. */
  readonly say?: ((text: string) => Promise<void>) | undefined;
}

/** Somebody who is signed in. */
export interface SignedIn {
  /** The bearer token for the API. It appears in no log and no message. */
  readonly idToken: string;
  readonly expires: Date | undefined;
  /** Who it is, as the token says. */
  readonly name: string | undefined;
  /** Where the token comes from. */
  readonly from: "cache" | "commodore" | "refresh" | "person";
}

/** How long another process may take to sign in before a daemon goes on without, in ms. */
const silentPatience = 30_000;
/** How long another process may take to renew tokens that are to be forgotten, in ms. */
const renewing = 5000;

/**
 * A token for an API: a stored one, one that commodore has stored, a renewed one, or the one that a person gets by
 * signing in. `auth` when there is none to be had. Of several processes at once one signs in, the others take its token.
 */
export async function signIn(
  options: SignInOptions,
  parts: SignInParts,
  { signal }: { signal: AbortSignal },
): Promise<SignedIn> {
  return await new SignIn(options, parts).run(signal);
}

/**
 * Does something with a token. When `use` fails with a `TokenRefusal`, because the token has been revoked or is not one
 * for this API, it signs in again and tries once more; a token that was made just now is not tried twice.
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
  // What was renewed just now will be no better when it is renewed once more.
  const isAnew = first.from === "refresh";
  return await use(await signIn({ ...options, refused: first.idToken, isAnew }, parts, { signal }));
}

/**
 * Forgets the tokens of an API, and has the provider forget them too, where it takes part and can be reached. False
 * when there were none. What commodore has stored stays, and counts.
 */
export async function signOut(
  options: Pick<SignInOptions, "apiUrl" | "ca" | "clientId" | "discoveryUrl">,
  { world, log, dial }: Omit<SignInParts, "say">,
  { signal }: { signal: AbortSignal },
): Promise<boolean> {
  const cache = new TokenCache(world, log);
  const key = tokenKey(options);
  // Whoever renews them at this moment would store them again behind us; a person who signs in may take longer.
  using _turn = await cache.turn(key, { clock: world.clock, signal, patience: renewing });
  const tokens = await cache.read(key);
  // Here first: whoever signs out wants that whatever the network does.
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
        `Cannot sign in at ${this.#issuer}: nobody did within ${Math.round(ms / 1000)} s`,
        {
          exit: 5,
          hint: "try again; where there is no browser: postern login --device",
        },
      );
    const { clock } = this.#parts.world;
    return await within({ clock, ms, signal, error }, async (signal) => {
      using _turn = await this.#cache.turn(this.#key, { clock, signal, onWait: () => this.#tellWaiting() });
      return await this.#stored() ?? await this.#anew(signal);
    });
  }

  /** A token that is there already. */
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

  /** Whether a token is from this provider and for this client: any other would be sent to whom it is not for. */
  #isOurs({ idToken }: StoredTokens): boolean {
    const claims = readClaims(idToken);
    return claims?.issuer?.replace(/\/+$/, "") === this.#issuer &&
      claims.audience.includes(this.#key.clientId);
  }

  async #anew(signal: AbortSignal): Promise<SignedIn> {
    const { world, log } = this.#parts;
    const { method = "browser", port, asksAnyway = isBrowserAsked(world.process) } = this.#options;
    const provider = await discover(this.#options, this.#parts, { signal });
    const renewed = this.#options.isAnew ? undefined : await this.#renewed(provider, signal);
    if (renewed) return signedIn(renewed, "refresh");
    const hasTerminal = world.terminal.isInput || world.terminal.isErrorOutput;
    if (method === "none" || !(hasTerminal || asksAnyway)) {
      throw new PosternError("auth", `Cannot sign in at ${this.#issuer} without asking a person`, {
        hint: "sign in once in a terminal: postern login",
      });
    }
    const say = this.#say;
    const tokens = method === "device"
      ? await signInByDevice(provider, { world, say }, { signal })
      : await signInByBrowser(provider, { world, log, say }, { signal, port });
    await this.#cache.keep(this.#key, tokens);
    return signedIn(tokens, "person");
  }

  /** New tokens for the refresh token of an earlier sign-in, ours or commodore's. */
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

  /** It may be some other window's browser that a person has forgotten about. */
  async #tellWaiting(): Promise<void> {
    if (this.#options.method === "none") return;
    await this.#say(`postern: another postern is signing in at ${this.#issuer} now: waiting for it\n`);
  }
}

function signedIn(tokens: StoredTokens, from: SignedIn["from"]): SignedIn {
  const { expires, name } = readClaims(tokens.idToken) ?? {};
  return { idToken: tokens.idToken, expires, name, from };
}
