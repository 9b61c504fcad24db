import type { HttpClientParts } from "../http/mod.ts";
import { maskedUrl } from "../config/mod.ts";
import { type Clock, encodeBase64, pause, percentDecoded } from "../core/mod.ts";
import { describe, PosternError } from "../words/mod.ts";
import { endpointProxy } from "./check_proxy_spec.ts";
import { proxyPlace } from "./check_proxy_url.ts";
import type { ProxySpec } from "./proxy_spec.ts";

export interface ReadinessOptions {
  /** PEM certificates to trust in addition to the system's: the proposed bundle. */
  readonly ca?: string | undefined;
  /** Attempts per endpoint before it counts as not ready (default: 3). */
  readonly attempts?: number;
  /** Timeout of one attempt with all its redirects, in ms (default: 10,000). */
  readonly timeout?: number | undefined;
  /** Pause between two attempts, in ms (default: 1000). */
  readonly pause?: number;
}

/** The result of probing one endpoint. No text in it holds a password. */
export interface EndpointResult {
  /** The URL as configured, without its password. */
  readonly endpoint: string;
  readonly isReady: boolean;
  readonly attempts: number;
  /** The duration of all attempts, in ms. */
  readonly ms: number;
  /** The last response's status and origin, if there was one. */
  readonly status?: number;
  readonly answeredBy?: string;
  /** Why it is not ready. */
  readonly failure?: string;
}

/** The number of endpoints probed at the same time. */
const atOnce = 8;

/** The limit of Go's client. */
const mostRedirects = 10;

/**
 * Probes every endpoint of a spec through its proxy, several at once, regardless of noProxy. Returns the
 * results in the order of the spec.
 */
export async function probeEndpoints(
  spec: ProxySpec,
  parts: HttpClientParts,
  { signal, ...options }: ReadinessOptions & { readonly signal: AbortSignal },
): Promise<EndpointResult[]> {
  const endpoints = [...(spec.readinessEndpoints ?? [])].entries();
  const results: EndpointResult[] = [];
  const worker = async () => {
    for (const [index, endpoint] of endpoints) {
      results[index] = await probe({ endpoint, proxy: endpointProxy(endpoint, spec) }, parts, {
        signal,
        ...options,
      });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results;
}

interface Asked {
  readonly endpoint: string;
  /** The URL of the proxy. */
  readonly proxy: string;
}

type Outcome = Pick<EndpointResult, "isReady" | "status" | "answeredBy" | "failure">;

async function probe(
  asked: Asked,
  parts: HttpClientParts,
  { signal, ca, attempts = 3, timeout = 10_000, pause: between = 1000 }: ReadinessOptions & {
    signal: AbortSignal;
  },
): Promise<EndpointResult> {
  const { clock } = parts;
  const begin = clock.now();
  for (let attempt = 1;; attempt++) {
    const outcome = await attemptOnce(asked, parts, { signal, timeout, ca });
    if (outcome.isReady || attempt >= attempts) {
      const endpoint = maskedUrl(asked.endpoint);
      return { endpoint, ...outcome, attempts: attempt, ms: Math.round(clock.now() - begin) };
    }
    await pause(clock, between, { signal });
  }
}

/** Makes one attempt. Throws only when the signal aborts; errors are part of the result. */
async function attemptOnce(
  { endpoint, proxy }: Asked,
  parts: HttpClientParts,
  { signal, timeout, ca }: { signal: AbortSignal; timeout: number; ca?: string | undefined },
): Promise<Outcome> {
  const place = proxyPlace(proxy);
  if (!place) return { isReady: false, failure: "no proxy applies to this URL" };
  const { HttpClient } = await import("../http/mod.ts");
  const deadline = new Deadline(parts.clock, timeout);
  try {
    let url = new URL(endpoint);
    for (let redirects = 0;; redirects++) {
      const client = new HttpClient(parts, { proxy: place, timeout: deadline.left(), ca });
      const fields = authorization(url);
      const { status, fields: answered } = await client.ask({ url, fields, isHeadEnough: true }, { signal });
      const next = nextUrl(url, status, answered.get("location"));
      if (!next) return judged(url, status);
      if (redirects === mostRedirects) {
        return {
          ...judged(url, status),
          isReady: false,
          failure: `more than ${mostRedirects} redirects`,
        };
      }
      url = next;
    }
  } catch (error) {
    signal.throwIfAborted();
    return { isReady: false, failure: maskedText(describe(error), [endpoint, proxy]) };
  }
}

function judged(url: URL, status: number): Outcome {
  const answeredBy = placeText(url);
  if (status >= 200 && status < 400) return { isReady: true, status, answeredBy };
  const why = status === 407 ? ": the proxy rejected the user or password" : "";
  return { isReady: false, status, answeredBy, failure: `${answeredBy} answered ${status}${why}` };
}

/** The target of a redirect; undefined for a response that is not a redirect or has no Location. */
function nextUrl(url: URL, status: number, location: string | undefined): URL | undefined {
  if (![301, 302, 303, 307, 308].includes(status) || location === undefined) return undefined;
  const next = URL.parse(location, url.href);
  if (next && (next.protocol === "http:" || next.protocol === "https:") && next.hostname !== "") return next;
  throw new PosternError(
    "protocol",
    `Cannot follow the redirect of ${placeText(url)}: the Location is not an http or https URL`,
  );
}

/** A URL without user, password and query. */
function placeText({ protocol, host, pathname }: URL): string {
  return `${protocol}//${host}${pathname}`.slice(0, 300);
}

/** The Authorization field for the user and password in an endpoint's URL. */
function authorization({ username, password }: URL): [name: string, value: string][] {
  if (username === "" && password === "") return [];
  // An invalid escape stays as written.
  const [user, word] = [username, password].map((text) => percentDecoded(text) ?? text);
  return [["Authorization", `Basic ${encodeBase64(new TextEncoder().encode(`${user}:${word}`))}`]];
}

/** Masks passwords in errors, which may quote the URL. */
function maskedText(text: string, urls: readonly string[]): string {
  return urls.reduce((shown, url) => url === "" ? shown : shown.replaceAll(url, maskedUrl(url)), text);
}

/** A shared time limit of several steps. */
class Deadline {
  readonly #clock: Clock;
  readonly #end: number;

  constructor(clock: Clock, ms: number) {
    this.#clock = clock;
    this.#end = clock.now() + ms;
  }

  left(): number {
    return Math.max(1, this.#end - this.#clock.now());
  }
}
