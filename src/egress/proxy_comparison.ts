import type { HttpClientParts } from "../http/mod.ts";
import { maskedUrl } from "../config/mod.ts";
import { reasonOf } from "../words/mod.ts";
import { proxyPlace } from "./check_proxy_url.ts";
import { goNoProxy } from "./no_proxy/no_proxy_match_go.ts";
import type { ProxyStatus } from "./proxy_spec.ts";
import { requestOrigin } from "./no_proxy/request_origin.ts";

/** Whether a URL responds with and without the proxy, and whether the no-proxy list agrees. */
export interface ProxyComparison {
  readonly isListed: boolean;
  readonly direct: PathResult;
  readonly proxied: PathResult;
  readonly problem?: string;
  readonly hint?: string;
}

/** The result of one attempt. No text in it holds a password. */
export interface PathResult {
  readonly isReached: boolean;
  /** The response or the error. */
  readonly says: string;
}

export interface ProxyComparisonOptions {
  readonly signal: AbortSignal;
  readonly ca?: string;
  /** Timeout of each attempt in ms (default: 5000). */
  readonly timeout?: number;
}

/**
 * Requests a URL with and without the proxy at the same time, and compares the results with the no-proxy list
 * under Go's rules. Only a status of 200 to 299 counts. Undefined when no proxy applies or the URL has no
 * host.
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
      ? {
        problem:
          `NO_PROXY lists it, but it is unreachable with and without the proxy: directly, ${direct.says}`,
      }
      : {
        problem:
          `NO_PROXY does not list it, and it is unreachable with and without the proxy: through the proxy, ${proxied.says}`,
      };
  }
  return isListed
    ? {
      problem: `NO_PROXY lists it, but it is reachable only through the proxy: directly, ${direct.says}`,
      hint: "remove it from NO_PROXY",
    }
    : {
      problem:
        `NO_PROXY does not list it, but it is reachable only directly: through the proxy, ${proxied.says}`,
      hint: "add it to NO_PROXY",
    };
}
