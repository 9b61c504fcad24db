import { isMapping } from "../config/mod.ts";
import { type Clock, Tasks, type TransportStatus, unlessAborted } from "../core/mod.ts";
import { type ProxySettings, proxyTarget, UpstreamProxy, type UpstreamProxyDeps } from "../http/mod.ts";
import type { KubeApi } from "../kube/mod.ts";
import { describe, PosternError, type Target } from "../words/mod.ts";
import { goNoProxy } from "./no_proxy/no_proxy_match_go.ts";

export interface AcceptedProxyDeps extends UpstreamProxyDeps {
  readonly clock: Clock;
  /** The API of the cluster: another one where its kubeconfig has changed. */
  readonly api: (options: { readonly signal: AbortSignal }) => Promise<KubeApi>;
}

/** What a cluster has accepted, as far as dials need it. */
export interface AcceptedProxies {
  readonly http: UpstreamProxy | undefined;
  readonly https: UpstreamProxy | undefined;
  readonly isDirect: (target: Target) => boolean;
}

/** The watches at one API server. */
interface Watching {
  readonly api: KubeApi;
  readonly stop: AbortController;
  /** Settles once both are known. */
  readonly ready: Promise<void>;
}

/** The texts it is made of; they change together or one by one. */
interface Told {
  readonly status?: Readonly<Record<string, unknown>>;
  readonly bundle?: string;
}

/** Follows the proxy that a cluster has accepted: its status, and the bundle that is trusted where it speaks TLS. */
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

  /** It works as far as the proxies do that it leads to. */
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

  /** What is accepted now. */
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
   * Waits until both are known; from then on it answers at once, also while a watch is being resumed. Where the
   * kubeconfig has changed, its transport has another API server: what the former one said does not count.
   */
  async #ready(signal: AbortSignal): Promise<void> {
    const api = await this.#deps.api({ signal });
    if (this.#watching?.api !== api) {
      this.#watching?.stop.abort(new DOMException("The cluster is another one", "AbortError"));
      this.#watching = this.#watch(api);
    }
    await unlessAborted(this.#watching.ready, signal);
  }

  #watch(api: KubeApi): Watching {
    this.#told = {};
    this.#accepted = undefined;
    const stop = new AbortController();
    const ready = this.#followBoth(api, stop.signal).catch((error) => {
      // One of them alone is of no use: the next dial begins with both.
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

  /** Holds one object; what is gone is told as undefined. */
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
      // Not quoted: it may hold a password.
      throw new PosternError(
        "config",
        `Cannot use status.${key} of the cluster's Proxy: it is no URL of a proxy`,
        { hint: "see what is wrong with it: postern egress check --live" },
      );
    };
    return {
      http: proxyOf("httpProxy"),
      https: proxyOf("httpsProxy"),
      isDirect: directBy(text("noProxy")),
    };
  }
}

/** Reads a cluster's no-proxy list as its consumers do, by Go's rules. */
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

/** An accepted URL may have a path, which means nothing, and a user without a password, or a password alone. */
function settingsOf(text: string): ProxySettings | undefined {
  const url = URL.parse(text);
  const scheme = url?.protocol === "http:" ? "http" : url?.protocol === "https:" ? "https" : undefined;
  if (!url || !scheme || url.hostname === "") return undefined;
  const { username, password } = url;
  return {
    scheme,
    ...proxyTarget(url),
    ...((username !== "" || password !== "") && { user: decoded(username), password: decoded(password) }),
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // It means itself, as Go has it.
    return text;
  }
}
