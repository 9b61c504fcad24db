import type { ClusterView, ServiceRecord } from "../api/cluster_view.ts";
import type { KubeApi } from "../api/kube_api.ts";
import { parseServiceName, type ServiceNameOptions } from "../services/service_names.ts";
import { type PodPlace, podPlacesOf } from "../services/service_ports.ts";
import type { Clock, Conn, DialOptions, Log } from "../../core/mod.ts";
import { describe, formatTarget, PosternError, type Target } from "../../words/mod.ts";
import type { Dialer } from "../../world/mod.ts";
import { ClusterTable } from "./cluster_table.ts";
import { ClusterTries } from "./cluster_tries.ts";
import type { HalfClose } from "./forward_api.ts";
import { ForwardPool } from "./forward_pool.ts";
import type { LearnedStore } from "./learned_store.ts";
import { UseCount } from "./use_count.ts";

export interface ClusterLinkOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly api: KubeApi;
  readonly view: ClusterView;
  readonly names: ServiceNameOptions;
  readonly halfClose: HalfClose;
  /** Connects to the target of an ExternalName; if absent, such Services are refused. */
  readonly outside?: Dialer | undefined;
  /** The pod networks from the configuration. */
  readonly podNetworks?: readonly string[] | undefined;
  /** The host of the API server, if it is reached directly. */
  readonly server?: string | undefined;
  /** Stores learned facts; if absent, they are not stored. */
  readonly store?: LearnedStore | undefined;
  /** Returns a number from 0 to below 1, for the choice between endpoints. */
  readonly random?: () => number;
}

/** One cluster in use: its API server, the watched objects, and the forwards to its pods. */
export class ClusterLink implements AsyncDisposable {
  readonly api: KubeApi;
  readonly view: ClusterView;
  readonly forwards: ForwardPool;
  readonly table: ClusterTable;
  readonly #options: ClusterLinkOptions;
  readonly #ended = new AbortController();
  /** The running dials. */
  readonly #uses = new UseCount();

  constructor(options: ClusterLinkOptions) {
    const { api, view, clock, log, halfClose, names: { namespace }, podNetworks = [] } = options;
    const { server, store } = options;
    this.#options = options;
    this.api = api;
    this.view = view;
    this.table = new ClusterTable({ view, api, clock, log, namespace, podNetworks, server, store });
    this.forwards = new ForwardPool({
      clock,
      api,
      halfClose,
      onNote: (text) => log.info("kubernetes.note", { cluster: api.name, note: text }),
      onBroken: (pod, error) =>
        log.warn("kubernetes.session_broken", { cluster: api.name, pod, reason: describe(error) }),
    });
  }

  /** How to parse host names of this cluster. */
  get names(): ServiceNameOptions {
    return this.#options.names;
  }

  /** Whether a connection uses this cluster or is about to. */
  get isInUse(): boolean {
    return !this.#uses.isZero || this.forwards.status().streams > 0;
  }

  /** Watches the default namespace, as the first dial does. */
  async connect(options: { readonly signal: AbortSignal }): Promise<void> {
    this.api.allowSignIn({ atOnce: true });
    await this.view.ready(this.#options.names.namespace, options);
  }

  /** Connects to a host (without its context) and port in this cluster. */
  async dial(target: Target, options: DialOptions): Promise<Conn> {
    using _use = this.#uses.begin();
    const { clock, log, names, random, outside } = this.#options;
    const { api, view, forwards } = this;
    const cluster = api.name;
    const { signal, onStep } = options;
    const name = parseServiceName(target.host, names);
    if (!name) throw noSuchName(target, cluster);
    api.allowSignIn();
    const tries = new ClusterTries({ target, name }, {
      ...{ clock, log, api, view, forwards, random, uses: this.#uses },
      namespace: names.namespace,
      ended: this.#ended.signal,
    });
    const found = await tries.find(signal);
    if ("externalName" in found) {
      const { namespace, name: service } = found.service;
      const what =
        `the Service ${namespace}/${service} of ${cluster} is the ExternalName "${found.externalName}"`;
      if (outside) {
        onStep?.(what);
        return await outside({ host: found.externalName, port: target.port }, options);
      }
      throw new PosternError("not_allowed", `Cannot reach ${formatTarget(target)}: ${what}`, {
        hint: "connect to that name directly, or set externalName: dial for this transport",
      });
    }
    onStep?.(foundText(found, cluster));
    return await tries.open(found.places, options);
  }

  /** Shows where a target would end, from the objects in memory; sends no request. */
  locate(target: Target): string | undefined {
    const { names, view } = this.#options;
    const cluster = this.api.name;
    const name = parseServiceName(target.host, names);
    if (!name || name.kind === "pod") return undefined;
    const service = name.kind === "address"
      ? view.byClusterIp(name.ip)
      : view.service(name.namespace, name.service);
    if (!service || service.type === "ExternalName") return undefined;
    const port = name.kind === "service" && name.port !== undefined ? { name: name.port } : target.port;
    const endpoint = name.kind === "endpoint" ? name.endpoint : undefined;
    try {
      return foundText(
        { service, places: podPlacesOf(service, { port, endpoint }, { view, cluster }) },
        cluster,
      );
    } catch (error) {
      if (error instanceof PosternError) return error.message;
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort(new PosternError("cancelled", "The transport was closed"));
    await this.table[Symbol.asyncDispose]();
    await this.forwards[Symbol.asyncDispose]();
    await this.view[Symbol.asyncDispose]();
    await this.api[Symbol.asyncDispose]();
  }
}

function foundText(
  { service, places }: { readonly service?: ServiceRecord; readonly places: readonly PodPlace[] },
  cluster: string,
): string {
  const shown = places.slice(0, 3).map(({ pod, port }) => `${pod}:${port}`).join(", ");
  const more = places.length > 3 ? ` and ${places.length - 3} more` : "";
  const what = service
    ? `the Service ${service.namespace}/${service.name}`
    : `the namespace ${places[0]?.namespace}`;
  return `${what} of ${cluster}: ${shown}${more}`;
}

function noSuchName(target: Target, cluster: string): PosternError {
  return new PosternError(
    "name_not_found",
    `Cannot find ${formatTarget(target)} in ${cluster}: not a cluster name`,
    {
      hint: "use svc, svc.namespace or svc.namespace.svc, optionally followed by the cluster's domain",
    },
  );
}
