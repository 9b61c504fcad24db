import { describe, PosternError } from "../words/mod.ts";
import { type Log, pause } from "../core/mod.ts";
import type { World } from "../world/mod.ts";
import { requestCode } from "./oidc_code.ts";
import { requestDevice } from "./oidc_device.ts";
import { isOfflineRefused, offlineAccess } from "./oidc_failure.ts";
import type { OidcProvider } from "./oidc_provider.ts";
import { hasBrowser, openBrowser } from "./open_browser.ts";
import { type CallbackPlace, type Errand, SignInCallback } from "./sign_in_callback.ts";
import { readClaims } from "./sign_in_claims.ts";
import type { StoredTokens } from "./token_cache.ts";

export interface PersonParts {
  readonly world: Pick<World, "clock" | "network" | "files" | "process" | "places">;
  readonly log: Log;
  /** Shows a text with its line ends to the user. */
  readonly say: (text: string) => Promise<void>;
}

/** The port that command-line programs register with providers. */
const usualPort = 18000;

/** Opens the provider's sign-in in the user's browser and waits for its return. */
export async function signInByBrowser(
  provider: OidcProvider,
  parts: PersonParts,
  { port = usualPort, signal }: { port?: number | undefined; signal: AbortSignal },
): Promise<StoredTokens> {
  const { scopes, issuer } = provider;
  return await sendBrowser(parts, {
    port,
    at: issuer,
    errand: (redirectUri) => errandTo(provider, { redirectUri, scopes }),
    signal,
  });
}

export interface BrowserErrand<T> {
  /** The port of the redirect address; 0 means any free one. */
  readonly port: number;
  readonly place?: CallbackPlace;
  /** The server that requests the sign-in, for messages. */
  readonly at: string;
  errand(redirectUri: string): Promise<Errand<T>>;
  /** The error without a browser; if absent, the user may open the URL by hand. */
  readonly withoutBrowser?: () => PosternError;
  readonly signal: AbortSignal;
}

/** Opens a URL in the user's browser and waits for its return. */
export async function sendBrowser<T>(
  { world, log, say }: PersonParts,
  { port, place, at, errand: errandFor, withoutBrowser, signal }: BrowserErrand<T>,
): Promise<T> {
  const { clock, network, process } = world;
  if (withoutBrowser && !hasBrowser(process)) throw withoutBrowser();
  await using callback = await SignInCallback.open(port, { clock, network, log }, {
    place,
    signal,
  });
  const errand = await errandFor(callback.redirectUri);
  const ending = new AbortController();
  const waiting = AbortSignal.any([signal, ending.signal]);
  const coming = callback.result(errand, { signal: waiting });
  // The promise is awaited below; until then, ignore its rejection.
  coming.catch(() => {});
  try {
    await say(
      `postern: sign in at ${at} with your browser; if it does not open, open this address:\n${errand.url.href}\n`,
    );
    using browser = await startBrowser(errand.url, { world, log, say }, { signal });
    if (!browser && withoutBrowser) throw withoutBrowser();
    browser?.watch();
    return await coming;
  } finally {
    ending.abort();
    await coming.catch(() => {});
  }
}

async function errandTo(
  provider: OidcProvider,
  { redirectUri, scopes }: { redirectUri: string; scopes: readonly string[] },
): Promise<Errand<StoredTokens>> {
  const { url, state, redeem } = await requestCode(provider, { redirectUri, scopes });
  return {
    url,
    state,
    redeem: async (answer, options) => {
      try {
        const result = await redeem(answer, options);
        return { result, name: readClaims(result.idToken)?.name };
      } catch (error) {
        if (!isOfflineRefused(error, scopes)) throw error;
        return { next: await errandTo(provider, { redirectUri, scopes: online(scopes) }) };
      }
    },
  };
}

function online(scopes: readonly string[]): readonly string[] {
  return scopes.filter((scope) => scope !== offlineAccess);
}

/** Shows a code for another device, and polls until the user has signed in. */
export async function signInByDevice(
  provider: OidcProvider,
  parts: Pick<PersonParts, "world" | "say">,
  { signal }: { signal: AbortSignal },
): Promise<StoredTokens> {
  const { scopes } = provider;
  try {
    return await oneDeviceCode(provider, parts, { scopes, signal });
  } catch (error) {
    if (!isOfflineRefused(error, scopes)) throw error;
    return await oneDeviceCode(provider, parts, { scopes: online(scopes), signal });
  }
}

async function oneDeviceCode(
  provider: OidcProvider,
  { world: { clock }, say }: Pick<PersonParts, "world" | "say">,
  { scopes, signal }: { scopes: readonly string[]; signal: AbortSignal },
): Promise<StoredTokens> {
  const request = await requestDevice(provider, { scopes, signal });
  const end = clock.now() + request.expires;
  const complete = request.completeUrl === undefined ? "" : `\nor open this address: ${request.completeUrl}`;
  await say(`postern: sign in on any device: open ${request.url} and type ${request.userCode}${complete}\n`);
  let interval = request.interval;
  while (clock.now() + interval <= end) {
    await pause(clock, interval, { signal });
    try {
      const answer = await request.ask({ signal });
      if (typeof answer === "object") return answer;
      // RFC 8628, section 3.5: the longer interval stays.
      if (answer === "slow_down") interval += 5000;
    } catch (error) {
      signal.throwIfAborted();
      // RFC 8628, section 3.5: after a lost connection, poll less often.
      if (!(error instanceof PosternError) || !passing.has(error.code)) throw error;
      interval *= 2;
    }
  }
  throw new PosternError("timeout", `Cannot sign in at ${provider.issuer}: the code has expired`, {
    exit: 5,
    hint: "start the sign-in again",
  });
}

const passing: ReadonlySet<string> = new Set(["timeout", "unreachable", "refused", "name_not_found"]);

interface StartedBrowser extends Disposable {
  /** Reports when the browser's program fails. */
  watch(): void;
}

/** Opens a browser. A failure does not end the sign-in, because the user can open the URL by hand. */
async function startBrowser(
  url: URL,
  { world, log, say }: PersonParts,
  { signal }: { signal: AbortSignal },
): Promise<StartedBrowser | undefined> {
  try {
    const browser = await openBrowser(url, world, { signal });
    if (!browser) return undefined;
    const { program } = browser;
    let isOver = false;
    return {
      watch: () =>
        void browser.ended.then((code) => {
          if (code === 0 || isOver) return;
          log.info("sign_in.browser_failed", { program, code });
          return say(
            `postern: "${program}" failed to open the address (exit code ${code}); open it yourself\n`,
          );
        }),
      [Symbol.dispose]: () => {
        isOver = true;
        browser.release();
      },
    };
  } catch (error) {
    signal.throwIfAborted();
    log.info("sign_in.browser_failed", { reason: describe(error) });
    await say(`postern: cannot start a browser (${describe(error)}); open the address yourself\n`);
    return undefined;
  }
}
