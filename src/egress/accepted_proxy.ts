import { isMapping } from "../config/mod.ts";
import { type Clock, percentDecoded, Tasks, type TransportStatus, unlessAborted } from "../core/mod.ts";
import { type ProxySettings, proxyTarget, UpstreamProxy, type UpstreamProxyDeps } from "../http/mod.ts";
import type { KubeApi } from "../kube/mod.ts";
import { describe, PosternError, type Target } from "../words/mod.ts";
import { goNoProxy } from "./no_proxy/no_proxy_match_go.ts";

export interface AcceptedProxyDeps extends UpstreamProxyDeps {
  readonly clock: Clock;
  /** The cluster's API. Returns another object after the kubeconfig has changed. */
  readonly api: (options: { readonly signal: AbortSignal }) => Promise<KubeApi>;
}

/** The parts of a cluster's accepted proxy that dials need. */
export interface AcceptedProxies {
  readonly http: UpstreamProxy | undefined;
  readonly https: UpstreamProxy | undefined;
  readonly isDirect: (target: Target) => boolean;
}

/** The watches on one API server. */
interface Watching {
  readonly api: KubeApi;
  readonly stop: AbortController;
  /** Resolves when both objects are known. */
  readonly ready: Promise<void>;
}

/** The texts that define the accepted proxy; they change together or one by one. */
interface Told {
  readonly status?: Readonly<Record<string, unknown>>;
  readonly bundle?: string;
}

/** Follows a cluster's accepted proxy: its status, and the CA bundle for TLS to the proxy. */
export class AcceptedProxy implements AsyncDisposable {
  readonly #deps: AcceptedProxyDeps;
  readonly #tasks = new Tasks(undefined, () => {});
  #told: Told = {};
  #accepted: AcceptedProxies | undefined;
  #watching: Watching | undefined;
  #state: TransportStatus = { state: "idle" };

  constructor(deps: AcceptedProxyDeps) {
    this.#deps = deps;
  }

  /** Reports `failing` when one of the proxies fails. */
  status(): TransportStatus {
    const proxies = [this.#accepted?.http, this.#accepted?.https].flatMap((proxy) => proxy ?? []);
    const failing = proxies.map((proxy) => proxy.status()).find(({ state }) => state === "failing");
    const places = [...new Set(proxies.map(({ place }) => place))];
    return {
      ...(this.#state.state === "ready" && failing ? failing : this.#state),
      ...(places.length > 0 && { proxy: places.join(", ") }),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tasks[Symbol.asyncDispose]();
  }

  /** The proxies that the cluster has accepted now. */
  async known(signal: AbortSignal): Promise<AcceptedProxies> {
    try {
      await this.#ready(signal);
      const accepted = this.#accepted ??= this.#accept();
      this.#state = { state: "ready" };
      return accepted;
    } catch (error) {
      signal.throwIfAborted();
      this.#state = { state: "failing", lastError: describe(error) };
      throw error;
    }
  }

  /**
   * Waits until both objects are known. After that it returns at once, even while a watch reconnects. When
   * the kubeconfig changes, the transport gets another API server, and answers of the former one are dropped.
   */
  async #ready(signal: AbortSignal): Promise<void> {
    const api = await this.#deps.api({ signal });
    if (this.#watching?.api !== api) {
      this.#watching?.stop.abort(new DOMException("The kubeconfig names another cluster", "AbortError"));
      this.#watching = this.#watch(api);
    }
    await unlessAborted(this.#watching.ready, signal);
  }

  #watch(api: KubeApi): Watching {
    this.#told = {};
    this.#accepted = undefined;
    const stop = new AbortController();
    const ready = this.#followBoth(api, stop.signal).catch((error) => {
      // One object alone is useless: the next dial starts both watches again.
      stop.abort(error);
      if (this.#watching?.stop === stop) this.#watching = undefined;
      throw error;
    });
    ready.catch(() => {});
    return { api, stop, ready };
  }

  async #followBoth(api: KubeApi, signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#follow(
        { api, signal },
        { apiVersion: "config.openshift.io/v1", resource: "proxies", name: "cluster" },
        (object) => {
          const { status } = isMapping(object) ? object : {};
          this.#told = { ...this.#told, status: isMapping(status) ? status : {} };
        },
      ),
      this.#follow(
        { api, signal },
        {
          apiVersion: "v1",
          resource: "configmaps",
          namespace: "openshift-config-managed",
          name: "trusted-ca-bundle",
        },
        (object) => {
          const { data } = isMapping(object) ? object : {};
          const text = isMapping(data) ? data["ca-bundle.crt"] : undefined;
          const { bundle: _former, ...others } = this.#told;
          this.#told = { ...others, ...(typeof text === "string" && { bundle: text }) };
        },
      ),
    ]);
  }

  /** Watches one object; passes undefined when the object is deleted. */
  async #follow(
    { api, signal: followed }: { readonly api: KubeApi; readonly signal: AbortSignal },
    { apiVersion, resource, namespace, name }: {
      readonly apiVersion: string;
      readonly resource: string;
      readonly namespace?: string;
      readonly name: string;
    },
    tell: (object: unknown) => void,
  ): Promise<void> {
    const { clock } = this.#deps;
    const { loadKubernetes } = await import("../kube/mod.ts");
    const { KubeWatch } = await loadKubernetes();
    const told = (object: unknown) => {
      if (followed.aborted) return;
      tell(object);
      this.#accepted = undefined;
    };
    const watch = new KubeWatch({ api, clock, random: Math.random }, {
      apiVersion,
      resource,
      namespace,
      fields: `metadata.name=${name}`,
      sink: { put: told, remove: () => told(undefined) },
      onChange: () => {},
    });
    this.#tasks.spawn((signal) => watch.run({ signal: AbortSignal.any([signal, followed]) }));
    await watch.synced;
  }

  #accept(): AcceptedProxies {
    const { status = {}, bundle } = this.#told;
    const text = (key: string): string => {
      const value = status[key];
      return typeof value === "string" ? value : "";
    };
    const proxyOf = (key: string): UpstreamProxy | undefined => {
      const url = text(key);
      if (url === "") return undefined;
      const settings = settingsOf(url);
      if (settings) return new UpstreamProxy(settings, { ...this.#deps, caText: bundle });
      // The message does not quote the URL: it may hold a password.
      throw new PosternError(
        "config",
        `Cannot use status.${key} of the cluster's Proxy: it is not a proxy URL`,
        { hint: "find the problem with: postern egress check --live" },
      );
    };
    return {
      http: proxyOf("httpProxy"),
      https: proxyOf("httpsProxy"),
      isDirect: directBy(text("noProxy")),
    };
  }
}

/** Reads a cluster's no-proxy list by Go's rules, as its consumers do. */
function directBy(list: string): (target: Target) => boolean {
  const isDirect = goNoProxy(list);
  return ({ host, port }) =>
    isDirect({
      scheme: port === 80 ? "http" : "https",
      host,
      isBracketed: host.includes(":"),
      port: String(port),
    });
}

/**
 * Reads an accepted URL. It may have a path, which has no meaning, a user without a password, or only a
 * password.
 */
function settingsOf(text: string): ProxySettings | undefined {
  const url = URL.parse(text);
  const scheme = url?.protocol === "http:" ? "http" : url?.protocol === "https:" ? "https" : undefined;
  if (!url || !scheme || url.hostname === "") return undefined;
  const { username, password } = url;
  return {
    scheme,
    ...proxyTarget(url),
    // Keeps an invalid escape as it is, like Go.
    ...((username !== "" || password !== "") && {
      user: percentDecoded(username) ?? username,
      password: percentDecoded(password) ?? password,
    }),
  };
}
