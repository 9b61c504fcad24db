import type { Clock } from "../core/mod.ts";
import type { Dialer, Files, Network } from "../world/mod.ts";
import { PosternError } from "../words/mod.ts";
import { directDialer } from "./direct_dialer.ts";
import { proxyOfUrl } from "./proxy_url.ts";
import { UpstreamProxy } from "./upstream_proxy.ts";

export interface ProxyWorld {
  readonly clock: Clock;
  readonly files: Files;
  readonly network: Network;
}

/**
 * Dials through a proxy given only by URL, for example in a kubeconfig. `name` is for messages; `dialer`
 * connects to the proxy (default: directly).
 */
export function dialerThroughProxy(
  url: string,
  { name, world: { clock, files, network }, dialer = directDialer({ clock, network }) }: {
    readonly name: string;
    readonly world: ProxyWorld;
    readonly dialer?: Dialer;
  },
): Dialer {
  const settings = proxyOfUrl(url);
  if (!settings) {
    throw new PosternError("config", `Cannot use "${name}": its URL is not a proxy URL`, {
      hint: "write socks5://HOST:PORT, http://HOST:PORT or https://HOST:PORT",
    });
  }
  const proxy = new UpstreamProxy(settings, { name, files, network, dialer });
  return (target, options) => proxy.dial(target, options);
}
