import { formatTarget, isLoopbackHost, targetOf } from "../../words/mod.ts";
import type { ProxyEnvironment } from "../../control/mod.ts";
import { isReadable } from "./environment_text.ts";

/** The name of this machine in a container: Docker Desktop knows it, elsewhere `--add-host` sets it. */
const host = "host.docker.internal";

/**
 * The `proxies` block of `~/.docker/config.json`, which docker turns into variables of containers and builds.
 * Loopback inside a container is the container itself.
 */
export function dockerProxies(
  { http, noProxy, notes }: ProxyEnvironment,
): { text: string; notes: readonly string[] } {
  const url = new URL(http);
  const target = targetOf(url);
  const isOnLoopback = isLoopbackHost(target.host);
  const user = url.username === "" ? "" : `${url.username}:${url.password}@`;
  const proxy = `${url.protocol}//${user}${formatTarget(isOnLoopback ? { ...target, host } : target)}`;
  const block = {
    httpProxy: proxy,
    httpsProxy: proxy,
    allProxy: proxy,
    noProxy: noProxy.filter(isReadable).join(","),
  };
  return {
    text: `${JSON.stringify({ proxies: { default: block } }, null, 2)}\n`,
    notes: [
      ...notes,
      ...(isOnLoopback
        ? [
          `containers reach this machine as ${host}: add a listener on the bridge's address to listen.mixed, and run ` +
          `containers with --add-host=${host}:host-gateway`,
        ]
        : []),
      ...(url.protocol === "http:" ? [] : [
        "this listener accepts SOCKS only, which some programs do not support; listen.mixed also accepts HTTP",
      ]),
    ],
  };
}
