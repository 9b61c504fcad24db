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
  /** The API server of the cluster. */
  readonly api: URL;
  /** PEM certificates trusted besides the system's, for the API server and for whoever signs people in. */
  readonly ca?: string | undefined;
  /** A token that a person has brought along, in place of a sign-in. */
  readonly given?: string | undefined;
  /** How long a person has, in ms; 5 minutes unless told. */
  readonly timeLimit?: number;
}

export interface OpenShiftSignInParts {
  readonly world: Pick<World, "clock" | "files" | "network" | "places" | "process">;
  readonly log: Log;
  /** How the cluster is reached; straight unless told. */
  readonly dial?: Dialer;
  /** Says something to the person; with line ends. */
  readonly say: (text: string) => Promise<void>;
}

/** A token that a cluster takes. It appears in no log and no message. */
export interface ClusterToken {
  readonly token: string;
  readonly expires?: Date | undefined;
  readonly from: "cache" | "person" | "given";
}

/** A token is not given away for the last minute of its life, in ms. */
const margin = 60_000;
/** How long a cluster's word counts that it takes a token, in ms: one may be revoked, and kubectl does not say so. */
const trusted = 60_000;
/** How long a cluster may take to say whether it takes a token, in ms. */
const checkLimit = 10_000;

/**
 * A token for an OpenShift cluster: the one that is stored, as long as it lives and the cluster takes it, else the one
 * that a person gets by signing in with a browser. Of several processes at once one signs in, the others take its token.
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
        `Cannot sign in to ${api.origin}: nobody did within ${Math.round(ms / 1000)} s`,
        { exit: 5, hint: "run the command again, and sign in with the browser that opens" },
      );
    const { clock } = this.#parts.world;
    return await within({ clock, ms, signal, error }, async (signal) => {
      using _turn = await this.#cache.turn(this.#key, { clock, signal });
      return await this.#stored(signal) ?? await this.#person(signal);
    });
  }

  /** The token that is there already, if it is still good. */
  async #stored(signal: AbortSignal): Promise<ClusterToken | undefined> {
    const stored = await this.#cache.read(this.#key);
    if (!stored) return undefined;
    const now = this.#parts.world.clock.date().getTime();
    const { idToken: token, expires, checked } = stored;
    if (expires !== undefined && !(Date.parse(expires) - margin > now)) return undefined;
    const age = now - Date.parse(checked ?? "");
    // Somebody may have set the clock back.
    const isChecked = age >= 0 && age < trusted;
    if (!isChecked && !await this.#isTaken(token, signal)) return undefined;
    if (!isChecked) await this.#noteChecked(token, new Date(now));
    return { token, ...(expires !== undefined && { expires: new Date(expires) }), from: "cache" };
  }

  /** One that cannot be asked about is given away: whoever uses it is told more of why. */
  async #isTaken(token: string, signal: AbortSignal): Promise<boolean> {
    const { log } = this.#parts;
    try {
      const client = this.#client(checkLimit);
      const isTaken = await isTokenTaken(this.#options.api, token, { client, signal });
      if (!isTaken) log.info("sign_in.refused", { from: "cache", reason: "the cluster answered 401" });
      return isTaken;
    } catch (error) {
      signal.throwIfAborted();
      log.info("sign_in.not_checked", { reason: describe(error) });
      return true;
    }
  }

  /** Whoever has signed in while the cluster was asked has stored another token, and that stays. */
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

  /** Stores a token that a person has got elsewhere, once the cluster has taken it. */
  async #take(token: string, signal: AbortSignal): Promise<ClusterToken> {
    const { api } = this.#options;
    const client = this.#client(checkLimit);
    if (await isTokenTaken(api, token, { client, signal })) {
      return { ...await this.#keep({ token }), from: "given" };
    }
    throw new PosternError("auth", `Cannot sign in to ${api.origin}: it does not take this token`, {
      hint: "get another one from the page for it",
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
  return new PosternError("auth", `Cannot sign in to ${api.origin}: no browser can be opened here`, {
    hint: `get a token at ${tokenEndpoint}/request with any browser, then: ` +
      `postern exec-credential --server ${api.origin} --token-file FILE; or name a browser in BROWSER`,
  });
}
