import { maskedUrl } from "../config/mod.ts";
import { type Endpoint, parseTarget, targetOf } from "../words/mod.ts";
import type { World } from "../world/mod.ts";
import { compareWithProxy } from "../egress/mod.ts";
import { isAmong } from "../plan/mod.ts";
import type { Finding } from "./doctor.ts";

/** Fetches each URL with and without the environment's proxy, and compares the result with NO_PROXY. */
export async function* proxyPathFindings(
  world: World,
  urls: readonly string[],
  { signal }: { signal: AbortSignal },
): AsyncGenerator<Finding> {
  const { process } = world;
  // Like Go: the name in capitals wins, and an empty variable counts as unset.
  const variable = (name: string) => process.env(name.toUpperCase()) || process.env(name) || "";
  const proxies = { http: variable("http_proxy"), https: variable("https_proxy") };
  const status = {
    httpProxy: withScheme(proxies.http),
    httpsProxy: withScheme(proxies.https),
    noProxy: variable("no_proxy"),
  };
  for (const url of urls) {
    const name = `proxy for ${maskedUrl(url)}`;
    const comparison = await compareWithProxy(url, status, { parts: world, signal });
    if (!comparison) {
      const scheme = /^https:/i.test(url) ? "https" : "http";
      const detail = proxies[scheme] === ""
        ? "no proxy variable applies, or the URL has no host"
        : `${scheme.toUpperCase()}_PROXY is not an HTTP proxy, the only kind that this check supports`;
      yield { name, state: "skipped", detail };
    } else if (comparison.problem !== undefined) {
      const { problem, hint } = comparison;
      yield { name, state: "failed", detail: problem, hint };
    } else {
      const by = comparison.isListed ? "directly, as NO_PROXY says" : "through the proxy";
      yield { name, state: "ok", detail: `reachable ${by}` };
    }
  }
}

/** Adds `http://` to `proxy.example.net:3128`, as Go and curl do. */
function withScheme(proxy: string): string {
  return proxy === "" || proxy.includes("://") ? proxy : `http://${proxy}`;
}

const proxyNames = ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];

/** The targets of the proxy variables; `own` are the addresses of the running instance. */
export function* proxyFindings({ process }: World, own: readonly string[]): Generator<Finding> {
  const name = "proxy variables";
  const set = proxyNames.filter((variable) => process.env(variable));
  if (set.length === 0) {
    yield {
      name,
      state: "ok",
      detail: "not set",
      hint: 'to use the instance in this shell: eval "$(postern env)"',
    };
    return;
  }
  const endpoints = own.flatMap((text): Endpoint[] => /:[0-9]+$/.test(text) ? [parseTarget(text)] : []);
  for (const variable of set) {
    const value = process.env(variable) ?? "";
    const url = URL.parse(withScheme(value));
    if (!url) yield { name, state: "warning", detail: `${variable} is not a URL`, hint: `unset ${variable}` };
    else if (isAmong(targetOf(url), endpoints)) {
      yield { name, state: "ok", detail: `${variable} names this instance` };
    } else {
      yield {
        name,
        state: "warning",
        detail: `${variable} names ${url.host}, which is not this instance`,
        hint: "postern ignores this variable; to use that proxy, configure a transport for it",
      };
    }
  }
}
