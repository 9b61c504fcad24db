import type { HttpClientParts } from "../http/mod.ts";
import { maskedUrl } from "../config/mod.ts";
import { reasonOf } from "../words/mod.ts";
import { proxyPlace } from "./check_proxy_url.ts";
import { goNoProxy } from "./no_proxy/no_proxy_match_go.ts";
import type { ProxyStatus } from "./proxy_spec.ts";
import { requestOrigin } from "./no_proxy/request_origin.ts";

/** Whether a URL answers, with the proxy and without it, and whether that agrees with the list. */
export interface ProxyComparison {
  readonly isListed: boolean;
  readonly direct: PathResult;
  readonly proxied: PathResult;
  /** What is wrong, where something is: one of four sentences. */
  readonly problem?: string;
  readonly hint?: string;
}

/** What came of one way. No text in it holds a password. */
export interface PathResult {
  readonly isReached: boolean;
  /** What was answered, or why nothing was. */
  readonly says: string;
}

export interface ProxyComparisonOptions {
  readonly signal: AbortSignal;
  readonly ca?: string;
  /** For each way, in ms; 5 s unless told. */
  readonly timeout?: number;
}

/**
 * Asks for a URL with and without the proxy, both at once, and compares with what its list says as Go reads it: only a
 * status of 200 to 299 counts. Undefined where no proxy would be asked, or the URL has no host.
 */
export async function compareWithProxy(
  url: string,
  status: ProxyStatus,
  { parts, ...options }: ProxyComparisonOptions & { readonly parts: HttpClientParts },
): Promise<ProxyComparison | undefined> {
  const target = requestOrigin(url);
  const proxy = proxyPlace(target?.scheme === "https" ? status.httpsProxy : status.httpProxy);
  if (!target || !proxy) return undefined;
  const { HttpClient } = await import("../http/mod.ts");
  const ask = async (by: { proxy?: typeof proxy }): Promise<PathResult> => {
    const { signal, ca, timeout = 5000 } = options;
    try {
      const client = new HttpClient(parts, { ...by, timeout, ca });
      const { status } = await client.ask({ url: new URL(url), isHeadEnough: true, redirects: 0 }, {
        signal,
      });
      return { isReached: status >= 200 && status < 300, says: `it answered ${status}` };
    } catch (error) {
      signal.throwIfAborted();
      return { isReached: false, says: reasonOf(error).replaceAll(url, maskedUrl(url)) };
    }
  };
  const [direct, proxied] = await Promise.all([ask({}), ask({ proxy })]);
  const isListed = goNoProxy(status.noProxy)(target);
  return { isListed, direct, proxied, ...verdict({ isListed, direct, proxied }) };
}

type Outcomes = Pick<ProxyComparison, "isListed" | "direct" | "proxied">;

function verdict({ isListed, direct, proxied }: Outcomes): Pick<ProxyComparison, "problem" | "hint"> {
  if (isListed ? direct.isReached : proxied.isReached) return {};
  if (!direct.isReached && !proxied.isReached) {
    return isListed
      ? { problem: `NO_PROXY lists it, and it is reached neither way: directly, ${direct.says}` }
      : {
        problem:
          `NO_PROXY does not list it, and it is reached neither way: through the proxy, ${proxied.says}`,
      };
  }
  return isListed
    ? {
      problem: `NO_PROXY lists it, but it is reached through the proxy only: directly, ${direct.says}`,
      hint: "take it out of NO_PROXY",
    }
    : {
      problem:
        `NO_PROXY does not list it, but it is reached directly only: through the proxy, ${proxied.says}`,
      hint: "add it to NO_PROXY",
    };
}
