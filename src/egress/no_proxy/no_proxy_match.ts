import { curlNoProxy } from "./no_proxy_match_curl.ts";
import { denoNoProxy } from "./no_proxy_match_deno.ts";
import { goNoProxy, type IsDirect } from "./no_proxy_match_go.ts";
import { requestsNoProxy, urllibNoProxy } from "./no_proxy_match_python.ts";
import { requestOrigin } from "./request_origin.ts";

/** The clients whose NO_PROXY rules postern knows, with their matchers. */
const matchers = {
  "go": goNoProxy,
  "curl 7.88": (list: string) => curlNoProxy(list),
  "curl 8": (list: string) => curlNoProxy(list, { isNewer: true }),
  "deno": denoNoProxy,
  "urllib": urllibNoProxy,
  "requests": requestsNoProxy,
} as const satisfies Readonly<Record<string, (list: string) => IsDirect>>;

/** The name of a client. */
export type NoProxyClient = keyof typeof matchers;

/** Whether a client uses the proxy for a URL. */
export type NoProxyVerdict = "direct" | "proxy";

/** How each client treats a URL with this NO_PROXY list; undefined when the URL is invalid or has no host. */
export function noProxyVerdicts(
  list: string,
  url: string,
): Record<NoProxyClient, NoProxyVerdict> | undefined {
  const target = requestOrigin(url);
  if (!target) return undefined;
  const verdict = (client: NoProxyClient): NoProxyVerdict =>
    matchers[client](list)(target) ? "direct" : "proxy";
  return {
    "go": verdict("go"),
    "curl 7.88": verdict("curl 7.88"),
    "curl 8": verdict("curl 8"),
    "deno": verdict("deno"),
    "urllib": verdict("urllib"),
    "requests": verdict("requests"),
  };
}
