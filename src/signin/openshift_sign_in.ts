import { describe, PosternError } from "../words/mod.ts";
import type { Dialer, World } from "../world/mod.ts";
import { type Log, within } from "../core/mod.ts";
import { HttpClient } from "../http/mod.ts";
import {
  openShiftCallback,
  openShiftClient,
  type OpenShiftToken,
  requestOpenShiftCode,
} from "./openshift_code.ts";
import { discoverOpenShift, isTokenTaken } from "./openshift_server.ts";
import { sendBrowser } from "./sign_in_person.ts";
import { keyUrl, TokenCache, type TokenKey } from "./token_cache.ts";

export interface OpenShiftSignInOptions {
  readonly api: URL;
  /** PEM certificates to trust in addition to the system's, for the API server and the OAuth server. */
  readonly ca?: string | undefined;
  /** A token that the user provides instead of a sign-in. */
  readonly given?: string | undefined;
  /** Time limit for the user, in ms; default: 5 minutes. */
  readonly timeLimit?: number;
}

export interface OpenShiftSignInParts {
  readonly world: Pick<World, "clock" | "files" | "network" | "places" | "process">;
  readonly log: Log;
  /** Connects to the cluster; default: directly. */
  readonly dial?: Dialer;
  /** Shows a text with its line ends to the user. */
  readonly say: (text: string) => Promise<void>;
}

/** A token that a cluster accepts. It must not appear in logs and messages. */
export interface ClusterToken {
  readonly token: string;
  readonly expires?: Date | undefined;
  readonly from: "cache" | "person" | "given";
}

/** A token in the last minute of its life, in ms, is not returned. */
const margin = 60_000;
/**
 * How long an accepted token is not checked again, in ms; a token may be revoked, and kubectl would not
 * report that.
 */
const trusted = 60_000;
/** Timeout of a token check, in ms. */
const checkLimit = 10_000;

/**
 * Returns a token for an OpenShift cluster: the stored one while the cluster accepts it, otherwise a new one
 * from a sign-in with a browser. If several processes need one, only one of them signs in, and the others use
 * its token.
 */
export async function signInToOpenShift(
  options: OpenShiftSignInOptions,
  parts: OpenShiftSignInParts,
  { signal }: { signal: AbortSignal },
): Promise<ClusterToken> {
  return await new OpenShiftSignIn(options, parts).run(signal);
}

class OpenShiftSignIn {
  readonly #options: OpenShiftSignInOptions;
  readonly #parts: OpenShiftSignInParts;
  readonly #cache: TokenCache;
  readonly #key: TokenKey;

  constructor(options: OpenShiftSignInOptions, parts: OpenShiftSignInParts) {
    this.#options = options;
    this.#parts = parts;
    this.#cache = new TokenCache(parts.world, parts.log);
    const api = keyUrl(options.api.href);
    this.#key = { issuer: api, clientId: openShiftClient, apiUrl: api };
  }

  async run(signal: AbortSignal): Promise<ClusterToken> {
    const { given, api, timeLimit: ms = 5 * 60_000 } = this.#options;
    if (given !== undefined) return await this.#take(given, signal);
    const known = await this.#stored(signal);
    if (known) return known;
    const error = () =>
      new PosternError(
        "timeout",
        `Cannot sign in to ${api.origin}: no sign-in within ${Math.round(ms / 1000)} s`,
        { exit: 5, hint: "run the command again, and sign in with the browser that opens" },
      );
    const { clock } = this.#parts.world;
    return await within({ clock, ms, signal, error }, async (signal) => {
      using _turn = await this.#cache.turn(this.#key, { clock, signal });
      return await this.#stored(signal) ?? await this.#person(signal);
    });
  }

  /** The stored token, if it is still valid. */
  async #stored(signal: AbortSignal): Promise<ClusterToken | undefined> {
    const stored = await this.#cache.read(this.#key);
    if (!stored) return undefined;
    const now = this.#parts.world.clock.date().getTime();
    const { idToken: token, expires, checked } = stored;
    if (expires !== undefined && !(Date.parse(expires) - margin > now)) return undefined;
    const age = now - Date.parse(checked ?? "");
    // The clock may have been set back.
    const isChecked = age >= 0 && age < trusted;
    if (!isChecked && !await this.#isTaken(token, signal)) return undefined;
    if (!isChecked) await this.#noteChecked(token, new Date(now));
    return { token, ...(expires !== undefined && { expires: new Date(expires) }), from: "cache" };
  }

  /**
   * Whether the cluster accepts a token. If the cluster is unreachable, the token counts as accepted: its
   * next use reports the reason.
   */
  async #isTaken(token: string, signal: AbortSignal): Promise<boolean> {
    const { log } = this.#parts;
    try {
      const client = this.#client(checkLimit);
      const isTaken = await isTokenTaken(this.#options.api, token, { client, signal });
      if (!isTaken) log.info("sign_in.refused", { from: "cache", reason: "the cluster returned 401" });
      return isTaken;
    } catch (error) {
      signal.throwIfAborted();
      log.info("sign_in.not_checked", { reason: describe(error) });
      return true;
    }
  }

  /** Records a successful check, unless a concurrent sign-in has stored another token. */
  async #noteChecked(token: string, date: Date): Promise<void> {
    const stored = await this.#cache.read(this.#key);
    if (stored?.idToken !== token) return;
    await this.#cache.keep(this.#key, { ...stored, checked: date.toISOString() });
  }

  async #person(signal: AbortSignal): Promise<ClusterToken> {
    const { api } = this.#options;
    const { world, log, say } = this.#parts;
    const client = this.#client();
    const server = await discoverOpenShift(api, client, { signal });
    const token = await sendBrowser({ world, log, say }, {
      port: 0,
      place: openShiftCallback,
      at: api.origin,
      errand: (redirectUri) => requestOpenShiftCode(server, { redirectUri, client }),
      withoutBrowser: () => withoutBrowser(api, server.token_endpoint ?? ""),
      signal,
    });
    return { ...await this.#keep(token), from: "person" };
  }

  /** Stores a token from the user after the cluster has accepted it. */
  async #take(token: string, signal: AbortSignal): Promise<ClusterToken> {
    const { api } = this.#options;
    const client = this.#client(checkLimit);
    if (await isTokenTaken(api, token, { client, signal })) {
      return { ...await this.#keep({ token }), from: "given" };
    }
    throw new PosternError("auth", `Cannot sign in to ${api.origin}: the cluster rejects this token`, {
      hint: "request another token on the cluster's token page",
    });
  }

  async #keep({ token, seconds }: OpenShiftToken): Promise<Omit<ClusterToken, "from">> {
    const now = this.#parts.world.clock.date().getTime();
    const expires = seconds === undefined ? undefined : new Date(now + seconds * 1000);
    await this.#cache.keep(this.#key, {
      idToken: token,
      ...(expires && { expires: expires.toISOString() }),
      checked: new Date(now).toISOString(),
    });
    return { token, expires };
  }

  #client(timeout?: number): HttpClient {
    const { ca } = this.#options;
    const { world: { clock, network }, dial } = this.#parts;
    return new HttpClient({ clock, network, dial }, { ca, timeout });
  }
}

function withoutBrowser(api: URL, tokenEndpoint: string): PosternError {
  return new PosternError("auth", `Cannot sign in to ${api.origin}: this machine has no browser`, {
    hint: `open ${tokenEndpoint}/request in any browser to get a token, then run: ` +
      `postern exec-credential --server ${api.origin} --token-file FILE; or set BROWSER to a browser`,
  });
}
