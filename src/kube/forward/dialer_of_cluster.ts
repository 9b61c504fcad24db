import { dialerThroughProxy } from "../../http/mod.ts";
import type { Dialer } from "../../world/mod.ts";
import { formatTarget, PosternError, targetOf } from "../../words/mod.ts";
import type { ClusterDeps } from "./cluster_deps.ts";

/**
 * How a context's API server is reached: through the proxy that the kubeconfig names, which is itself reached through
 * `via`. A proxy that is this very door stands in the kubeconfig for other programs: with `via` it does not count,
 * without it there is no other way, which is a problem.
 */
export function dialerOfCluster(proxy: URL | undefined, deps: ClusterDeps): Dialer {
  const { via, dialer, name } = deps;
  if (!proxy) return dialer;
  const through = dialerThroughProxy(proxy.href, { name: `the proxy-url of ${name}`, world: deps, dialer });
  // Where the door listens may change while the cluster is in use.
  return (target, options) => {
    if (!isOwn(proxy, deps)) return through(target, options);
    if (via !== undefined) return dialer(target, options);
    return Promise.reject(ownListener(proxy, name));
  };
}

/** Throws `config` where the API server could be reached through this very door only. */
export function expectWay(
  proxy: URL | undefined,
  deps: Pick<ClusterDeps, "name" | "via" | "isOwnListener">,
): void {
  if (proxy && deps.via === undefined && isOwn(proxy, deps)) throw ownListener(proxy, deps.name);
}

/** Whether a direct connection to the API server's address finds that API server. */
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
    }, is this door itself`,
    { hint: `say how it is reached with "via": the name of a transport, or direct` },
  );
}
