import { maskedUrl } from "../config/mod.ts";
import { type Endpoint, parseTarget, targetOf } from "../words/mod.ts";
import type { World } from "../world/mod.ts";
import { fourWays } from "../egress/mod.ts";
import { isAmong } from "../plan/mod.ts";
import type { Finding } from "./doctor.ts";

/** Asks for each URL with and without the proxy of the environment, and compares with its NO_PROXY. */
export async function* proxyWayFindings(
  world: World,
  urls: readonly string[],
  { signal }: { signal: AbortSignal },
): AsyncGenerator<Finding> {
  const { process } = world;
  // As Go has it: capitals first, and an empty variable is none.
  const variable = (name: string) => process.env(name.toUpperCase()) || process.env(name) || "";
  const proxies = { http: variable("http_proxy"), https: variable("https_proxy") };
  const status = {
    httpProxy: withScheme(proxies.http),
    httpsProxy: withScheme(proxies.https),
    noProxy: variable("no_proxy"),
  };
  for (const url of urls) {
    const name = `proxy for ${maskedUrl(url)}`;
    const ways = await fourWays(url, status, { parts: world, signal });
    if (!ways) {
      const scheme = /^https:/i.test(url) ? "https" : "http";
      const detail = proxies[scheme] === ""
        ? "no proxy variable is set for it, or it is no URL with a host"
        : `${scheme.toUpperCase()}_PROXY names no HTTP proxy, and only such a one is asked`;
      yield { name, state: "skipped", detail };
    } else if (ways.problem !== undefined) {
      const { problem, hint } = ways;
      yield { name, state: "failed", detail: problem, ...(hint !== undefined && { hint }) };
    } else {
      const by = ways.isListed ? "directly, as NO_PROXY says" : "through the proxy";
      yield { name, state: "ok", detail: `it is reached ${by}` };
    }
  }
}

/** `proxy.example.net:3128` is one of HTTP, for Go as for curl. */
function withScheme(proxy: string): string {
  return proxy === "" || proxy.includes("://") ? proxy : `http://${proxy}`;
}

const proxyNames = ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];

/** Where the proxy variables lead; `own` is where the running door listens. */
export function* proxyFindings({ process }: World, own: readonly string[]): Generator<Finding> {
  const name = "proxy variables";
  const set = proxyNames.filter((variable) => process.env(variable));
  if (set.length === 0) {
    yield {
      name,
      state: "ok",
      detail: "none is set",
      hint: 'to use the door in this shell: eval "$(postern env)"',
    };
    return;
  }
  const endpoints = own.flatMap((text): Endpoint[] => /:[0-9]+$/.test(text) ? [parseTarget(text)] : []);
  for (const variable of set) {
    const value = process.env(variable) ?? "";
    const url = URL.parse(withScheme(value));
    if (!url) yield { name, state: "warning", detail: `${variable} is not a URL`, hint: `unset ${variable}` };
    else if (isAmong(targetOf(url), endpoints)) {
      yield { name, state: "ok", detail: `${variable} leads to this door` };
    } else {
      yield {
        name,
        state: "warning",
        detail: `${variable} leads to ${url.host}, which is not this door`,
        hint: "the door itself does not use it: to go through it, make it a transport in the configuration",
      };
    }
  }
}
