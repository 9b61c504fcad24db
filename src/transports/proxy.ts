import {
  type Conn,
  type DialOptions,
  type Transport,
  transportClosed,
  type TransportStatus,
} from "../core/mod.ts";
import type { AcceptedProxy } from "../egress/mod.ts";
import { UpstreamProxy } from "../http/mod.ts";
import { PosternError, type Target } from "../words/mod.ts";
import { defineTransport, type TransportDeps } from "./define_transport.ts";
import { clusterProblem, Kubernetes } from "./kubernetes.ts";
import { type ClusterProxySettings, proxySettings } from "./proxy_settings.ts";

export type ClusterProxyDeps = ConstructorParameters<typeof AcceptedProxy>[0];

/**
 * Connects through the proxy that a cluster has accepted; targets of its no-proxy list are dialed directly.
 * Port 80 counts as http, every other port as https.
 */
export class ClusterProxy implements Transport {
  readonly name: string;
  readonly #deps: ClusterProxyDeps;
  /** Loaded with the first dial. */
  #accepted: AcceptedProxy | undefined;
  #isDisposed = false;

  constructor(deps: ClusterProxyDeps) {
    this.name = deps.name;
    this.#deps = deps;
  }

  async dial(target: Target, options: DialOptions): Promise<Conn> {
    const accepted = this.#accepted ?? await this.#loaded();
    // After disposal nothing is watched, so a dial would wait forever.
    if (this.#isDisposed) throw transportClosed(this.name);
    const { http, https, isDirect } = await accepted.known(options.signal);
    const proxy = target.port === 80 ? http : https;
    if (proxy && !isDirect(target)) return await proxy.dial(target, options);
    const why = proxy ? "its no-proxy list contains the target" : "the cluster has no proxy for this port";
    options.onStep?.(`skipped the cluster's proxy: ${why}`);
    return await this.#deps.dialer(target, options);
  }

  status(): TransportStatus {
    return this.#accepted?.status() ?? { state: "idle" };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    await this.#accepted?.[Symbol.asyncDispose]();
  }

  async #loaded(): Promise<AcceptedProxy> {
    const { AcceptedProxy } = await import("../egress/mod.ts");
    if (this.#isDisposed) throw transportClosed(this.name);
    return this.#accepted ??= new AcceptedProxy(this.#deps);
  }
}

/** Returns the proxy of the cluster that another transport connects into. */
function proxyOfTransport({ cluster }: ClusterProxySettings, deps: TransportDeps): ClusterProxy {
  const { name, sibling } = deps;
  const api: ClusterProxyDeps["api"] = async (options) => {
    const used = sibling?.(cluster);
    if (used instanceof Kubernetes) return await used.api(options);
    throw new PosternError("config", `Cannot use the transport "${name}": "${cluster}" is not a cluster`, {
      hint: "set cluster to a transport of kind kubernetes",
    });
  };
  return new ClusterProxy({ ...deps, api });
}

/** `proxy: { url }`: another HTTP or SOCKS5 proxy, or a cluster's proxy. */
export default defineTransport({
  type: "proxy",
  settings: proxySettings,
  references: (settings) =>
    "cluster" in settings ? [{ name: settings.cluster, path: ["cluster"], problem: clusterProblem }] : [],
  create: (settings, deps) =>
    "cluster" in settings
      ? proxyOfTransport(settings, deps)
      // Another transport on the path carries the TCP connection to the proxy, but no datagrams.
      : new UpstreamProxy(settings, { ...deps, udp: deps.via === undefined ? deps.network : undefined }),
});
