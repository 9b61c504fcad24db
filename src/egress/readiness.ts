import type { HttpClientParts } from "../http/mod.ts";
import { maskedUrl } from "../config/mod.ts";
import { type Clock, encodeBase64, pause, percentDecoded } from "../core/mod.ts";
import { describe, PosternError } from "../words/mod.ts";
import { endpointProxy } from "./check_proxy_spec.ts";
import { proxyPlace } from "./check_proxy_url.ts";
import type { ProxySpec } from "./proxy_spec.ts";

export interface ReadinessOptions {
  /** PEM certificates trusted besides the system's: the proposed ones. */
  readonly ca?: string | undefined;
  /** How often each endpoint is asked before it counts as not ready; 3 unless told. */
  readonly attempts?: number;
  /** How long one attempt may take with all its redirects, in ms; 10 s unless told. */
  readonly timeout?: number | undefined;
  /** Between two attempts, in ms; 1 s unless told. */
  readonly pause?: number;
}

/** What came of asking one endpoint. No text in it holds a password. */
export interface EndpointResult {
  /** As asked for, without a password. */
  readonly endpoint: string;
  readonly isReady: boolean;
  readonly attempts: number;
  /** All attempts together, in ms. */
  readonly ms: number;
  /** What the last answer said, and who gave it, where there was one. */
  readonly status?: number;
  readonly answeredBy?: string;
  /** Why it is not ready. */
  readonly failure?: string;
}

/** How many endpoints are asked at once. */
const atOnce = 8;

/** As many as Go's client follows. */
const mostRedirects = 10;

/**
 * Asks every endpoint of a spec through its own proxy, several at once, whatever noProxy says. Each gets its
 * result, in the order of the spec.
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
  /** The proxy's URL. */
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

/** One attempt never fails but for the signal: what went wrong is its outcome. */
async function attemptOnce(
  { endpoint, proxy }: Asked,
  parts: HttpClientParts,
  { signal, timeout, ca }: { signal: AbortSignal; timeout: number; ca?: string | undefined },
): Promise<Outcome> {
  const place = proxyPlace(proxy);
  if (!place) return { isReady: false, failure: "there is no proxy to ask it through" };
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
          failure: `it redirects more than ${mostRedirects} times`,
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
  const why = status === 407 ? ": the proxy wants another user or password" : "";
  return { isReady: false, status, answeredBy, failure: `${answeredBy} answered ${status}${why}` };
}

/** Where an answer leads: without a place it is an answer like any other. */
function nextUrl(url: URL, status: number, location: string | undefined): URL | undefined {
  if (![301, 302, 303, 307, 308].includes(status) || location === undefined) return undefined;
  const next = URL.parse(location, url.href);
  if (next && (next.protocol === "http:" || next.protocol === "https:") && next.hostname !== "") return next;
  throw new PosternError(
    "protocol",
    `Cannot follow the redirect of ${placeText(url)}: it leads to no web address`,
  );
}

/** A URL without its user, its password and its query. */
function placeText({ protocol, host, pathname }: URL): string {
  return `${protocol}//${host}${pathname}`.slice(0, 300);
}

/** The user and the password of an endpoint's own URL, as clients send them. */
function authorization({ username, password }: URL): [name: string, value: string][] {
  if (username === "" && password === "") return [];
  // What is no escape means itself.
  const [user, word] = [username, password].map((text) => percentDecoded(text) ?? text);
  return [["Authorization", `Basic ${encodeBase64(new TextEncoder().encode(`${user}:${word}`))}`]];
}

/** What others say may quote the URL that they were given. */
function maskedText(text: string, urls: readonly string[]): string {
  return urls.reduce((shown, url) => url === "" ? shown : shown.replaceAll(url, maskedUrl(url)), text);
}

/** What is left of the time that several steps have together. */
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
