import { dialerThroughProxy } from "../../http/mod.ts";
import type { Dialer } from "../../world/mod.ts";
import { formatTarget, PosternError, targetOf } from "../../words/mod.ts";
import type { ClusterDeps } from "./cluster_deps.ts";

/**
 * Connects to a context's API server through the proxy in the kubeconfig, which itself is reached through
 * `via`. If that proxy is this instance, the entry is meant for other programs: with `via` it is ignored,
 * without `via` it is an error.
 */
export function dialerOfCluster(proxy: URL | undefined, deps: ClusterDeps): Dialer {
  const { via, dialer, name } = deps;
  if (!proxy) return dialer;
  const through = dialerThroughProxy(proxy.href, { name: `the proxy-url of ${name}`, world: deps, dialer });
  // The instance's listeners may change while the cluster is in use.
  return (target, options) => {
    if (!isOwn(proxy, deps)) return through(target, options);
    if (via !== undefined) return dialer(target, options);
    return Promise.reject(ownListener(proxy, name));
  };
}

/** Throws `config` if this instance would be the only route to the API server. */
export function expectReachable(
  proxy: URL | undefined,
  deps: Pick<ClusterDeps, "name" | "via" | "isOwnListener">,
): void {
  if (proxy && deps.via === undefined && isOwn(proxy, deps)) throw ownListener(proxy, deps.name);
}

/** Whether a direct connection to the API server's address reaches that API server. */
export function isReachedDirectly(proxy: URL | undefined, deps: ClusterDeps): boolean {
  const { via = "direct" } = deps;
  return via === "direct" && (!proxy || isOwn(proxy, deps));
}

function isOwn(proxy: URL, { isOwnListener }: Pick<ClusterDeps, "isOwnListener">): boolean {
  return isOwnListener?.(targetOf(proxy)) ?? false;
}

function ownListener(proxy: URL, name: string): PosternError {
  return new PosternError(
    "config",
    `Cannot reach the API server of "${name}": the proxy-url of its kubeconfig, ${
      formatTarget(targetOf(proxy))
    }, is this instance`,
    { hint: `set "via" to the name of a transport, or to direct` },
  );
}
