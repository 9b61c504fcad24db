import type { Dialer, World } from "../world/mod.ts";
import { PosternError } from "../words/mod.ts";
import { directDialer } from "../http/mod.ts";
import { Proxy } from "./upstream_proxy.ts";
import { proxySettingsOf } from "./proxy_settings.ts";

/**
 * Dials through a proxy that is known by its URL only, as a kubeconfig names one; `name` is for messages. The proxy is
 * reached by `dialer`, straight unless told.
 */
export function dialerThroughProxy(
  url: string,
  { name, world, dialer }: {
    readonly name: string;
    readonly world: Pick<World, "clock" | "files" | "network">;
    readonly dialer?: Dialer;
  },
): Dialer {
  const settings = proxySettingsOf(url);
  if (!settings) {
    throw new PosternError("config", `Cannot use "${name}": its URL is not that of a proxy`, {
      hint: "write it as socks5://HOST:PORT, http://HOST:PORT or https://HOST:PORT",
    });
  }
  const { clock, files, network } = world;
  const proxy = new Proxy(settings, {
    name,
    files,
    network,
    dialer: dialer ?? directDialer({ clock, network }),
  });
  return (target, options) => proxy.dial(target, options);
}
