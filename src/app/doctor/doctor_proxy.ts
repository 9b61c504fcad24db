import { maskedUrl } from "../../config/mod.ts";
import type { World } from "../../core/mod.ts";
import { fourWays } from "../../egress/mod.ts";
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
  const status = {
    httpProxy: variable("http_proxy"),
    httpsProxy: variable("https_proxy"),
    noProxy: variable("no_proxy"),
  };
  for (const url of urls) {
    const name = `proxy for ${maskedUrl(url)}`;
    const ways = await fourWays(url, status, { parts: world, signal });
    if (!ways) {
      const detail = "no proxy variable is set for it, or it is no URL with a host";
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
