import {
  type ClusterView,
  findPlaces,
  type KubeApi,
  parseServiceName,
  placesOf,
  type PodPlace,
  type ServiceNameOptions,
  type ServiceRecord,
} from "../../clusters/mod.ts";
import {
  type Clock,
  type Conn,
  describe,
  type Dialer,
  type DialOptions,
  formatTarget,
  type Log,
  pause,
  PosternError,
  type Target,
} from "../../core/mod.ts";
import { ClusterTable } from "./cluster_table.ts";
import { type HalfClose, podName } from "./forward_api.ts";
import { neverReachedPod } from "./forward_failure.ts";
import { ForwardPool } from "./forward_pool.ts";
import { RetriedConn } from "./retried_conn.ts";

export interface ClusterLinkOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly api: KubeApi;
  readonly view: ClusterView;
  readonly names: ServiceNameOptions;
  readonly halfClose: HalfClose;
  /** How to reach what an ExternalName leads to; refused where absent. */
  readonly outside?: Dialer | undefined;
  /** From 0 up to 1, for the choice between endpoints. */
  readonly random?: () => number;
}

/** One cluster in use: its API server, what is held of it, and the forwards into its pods. */
export class ClusterLink implements AsyncDisposable {
  readonly api: KubeApi;
  readonly view: ClusterView;
  readonly forwards: ForwardPool;
  readonly table: ClusterTable;
  readonly #options: ClusterLinkOptions;
  readonly #ended = new AbortController();
  /** How many ways into it are being looked for. */
  #looking = 0;

  constructor(options: ClusterLinkOptions) {
    const { api, view, clock, log, halfClose } = options;
    this.#options = options;
    this.api = api;
    this.view = view;
    this.table = new ClusterTable(view, { namespace: options.names.namespace, clock });
    this.forwards = new ForwardPool({
      clock,
      api,
      halfClose,
      onNote: (text) => log.info("kubernetes.note", { cluster: api.name, note: text }),
      onBroken: (pod, error) =>
        log.warn("kubernetes.session_broken", { cluster: api.name, pod, reason: describe(error) }),
    });
  }

  /** What names mean in it. */
  get names(): ServiceNameOptions {
    return this.#options.names;
  }

  /** Whether anything goes through it, or is about to. */
  get isInUse(): boolean {
    return this.#looking > 0 || this.forwards.status().streams > 0;
  }

  /** Holds the namespace of names without one, as the first dial does. */
  async connect(options: { readonly signal: AbortSignal }): Promise<void> {
    await this.view.ready(this.#options.names.namespace, options);
  }

  /** Connects to what a host, without its context, and a port mean in this cluster. */
  dial(target: Target, options: DialOptions): Promise<Conn> {
    return this.#inUse(() => this.#dial(target, options));
  }

  async #dial(target: Target, options: DialOptions): Promise<Conn> {
    const { names, view, outside } = this.#options;
    const cluster = this.api.name;
    const { signal, onStep } = options;
    const name = parseServiceName(target.host, names);
    if (!name) throw noSuchName(target, cluster);
    const find = () =>
      findPlaces(name, target.port, {
        view,
        cluster,
        namespace: names.namespace,
        signal: this.#ended.signal,
      });
    const found = await findPlaces(name, target.port, { view, cluster, namespace: names.namespace, signal });
    if ("externalName" in found) {
      const { namespace, name: service } = found.service;
      const what =
        `the Service ${namespace}/${service} of ${cluster} is the ExternalName "${found.externalName}"`;
      if (outside) {
        onStep?.(what);
        return await outside({ host: found.externalName, port: target.port }, options);
      }
      throw new PosternError("not_allowed", `Cannot reach ${formatTarget(target)}: ${what}`, {
        hint: "ask for that name itself, or set externalName: dial for this transport",
      });
    }
    onStep?.(foundText(found, cluster));
    const tries = new Tries(target, {
      ...this.#options,
      find,
      ended: this.#ended.signal,
      inUse: (work) => this.#inUse(work),
    });
    return await tries.open(found.places, this.forwards, options);
  }

  async #inUse<T>(work: () => Promise<T>): Promise<T> {
    this.#looking++;
    try {
      return await work();
    } finally {
      this.#looking--;
    }
  }

  /** Where a target would end, by what is held now: nobody is asked. */
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
        { service, places: placesOf(service, { port, endpoint }, { view, cluster }) },
        cluster,
      );
    } catch (error) {
      if (error instanceof PosternError) return error.message;
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort(new PosternError("cancelled", "The transport was closed"));
    this.table[Symbol.dispose]();
    await this.forwards[Symbol.asyncDispose]();
    await this.view[Symbol.asyncDispose]();
    await this.api[Symbol.asyncDispose]();
  }
}

interface TriesParts extends ClusterLinkOptions {
  /** Looks again. */
  readonly find: () => ReturnType<typeof findPlaces>;
  readonly ended: AbortSignal;
  /** Keeps the cluster while something is looked for. */
  readonly inUse: <T>(work: () => Promise<T>) => Promise<T>;
}

/** The attempts of one dial: a pod that refuses or is gone is followed by another one, so many times each. */
class Tries {
  readonly #target: Target;
  readonly #parts: TriesParts;
  readonly #tried = new Set<string>();
  /** Pods that a session called gone, which may be older than they are: each is asked once more, in a new session. */
  readonly #doubted = new Map<string, "due" | "done">();
  /** Where the connection leads that was handed out. */
  #last: PodPlace | undefined;
  readonly #left = { refused: 2, vanished: 8 };

  constructor(target: Target, parts: TriesParts) {
    this.#target = target;
    this.#parts = parts;
  }

  async open(places: readonly PodPlace[], forwards: ForwardPool, options: DialOptions): Promise<Conn> {
    const { onStep, signal } = options;
    let next: PodPlace | undefined = this.#choose(places);
    while (true) {
      if (!next) {
        throw new PosternError("unreachable", `Cannot reach ${formatTarget(this.#target)}: no endpoint`);
      }
      const place = next;
      this.#tried.add(textOf(place));
      try {
        const first = await forwards.open(place, { signal });
        this.#last = place;
        onStep?.(`forwards to port ${place.port} of the pod ${podName(place)}`);
        return new RetriedConn({
          first,
          next: (error, { signal }) =>
            this.#parts.inUse(() => this.#following(error, this.#last ?? place, { forwards, signal })),
        });
      } catch (error) {
        if (signal.aborted) throw error;
        next = await this.#another(error, place, signal);
        if (!next) throw error;
      }
    }
  }

  /** For a connection that was handed out already, before any byte of it came. */
  async #following(
    error: unknown,
    failed: PodPlace,
    { forwards, signal: wanted }: { readonly forwards: ForwardPool; readonly signal: AbortSignal },
  ): Promise<Conn | undefined> {
    const signal = AbortSignal.any([this.#parts.ended, wanted]);
    let place: PodPlace | undefined = failed;
    let reason = error;
    const isDoubtful = neverReachedPod(error) === "vanished" && !this.#doubted.has(textOf(failed));
    if (isDoubtful) this.#doubted.set(textOf(failed), "due");
    while (true) {
      place = await this.#another(reason, place, signal);
      if (!place) return undefined;
      this.#tried.add(textOf(place));
      try {
        const conn = await forwards.open(place, { signal });
        this.#last = place;
        return conn;
      } catch (error) {
        signal.throwIfAborted();
        reason = error;
      }
    }
  }

  /** The place to try after one that failed; undefined where nothing is tried again. */
  async #another(error: unknown, failed: PodPlace, signal: AbortSignal): Promise<PodPlace | undefined> {
    const why = neverReachedPod(error);
    if (!why || this.#left[why] === 0) return undefined;
    const { log, view, api } = this.#parts;
    view.forgetPods();
    const next = await this.#otherPlace({ hasVanished: why === "vanished", signal });
    if (!next) return undefined;
    this.#left[why]--;
    log.warn("kubernetes.retried", {
      cluster: api.name,
      target: formatTarget(this.#target),
      failed: podName(failed),
      next: podName(next),
      reason: describe(error),
    });
    return next;
  }

  /** A place that was not tried. What has vanished may be replaced in a moment: the watch is behind the pod's end. */
  async #otherPlace(
    { hasVanished, signal }: { readonly hasVanished: boolean; readonly signal: AbortSignal },
  ): Promise<PodPlace | undefined> {
    const { clock, view } = this.#parts;
    const end = clock.now() + patience;
    while (true) {
      const places = await this.#look();
      this.#forgetAllBut(places);
      const next = this.#choose(places) ?? (hasVanished ? this.#doubtedOf(places) : undefined);
      if (next || !hasVanished || clock.now() >= end) return next;
      const { promise, resolve } = Promise.withResolvers<void>();
      using _changed = view.onChange(resolve);
      const waiting = new AbortController();
      await Promise.race([
        promise,
        pause(clock, Math.max(1, end - clock.now()), { signal: AbortSignal.any([signal, waiting.signal]) })
          .catch(() => signal.throwIfAborted()),
      ]);
      waiting.abort();
    }
  }

  /** What was away in between is another one when it comes: a StatefulSet gives its pods the same names again. */
  #forgetAllBut(places: readonly PodPlace[]): void {
    const there = new Set(places.map(textOf));
    for (const tried of this.#tried) if (!there.has(tried)) this.#tried.delete(tried);
  }

  #doubtedOf(places: readonly PodPlace[]): PodPlace | undefined {
    const place = places.find((place) => this.#doubted.get(textOf(place)) === "due");
    if (place) this.#doubted.set(textOf(place), "done");
    return place;
  }

  async #look(): Promise<readonly PodPlace[]> {
    try {
      const found = await this.#parts.find();
      return "places" in found ? found.places : [];
    } catch (error) {
      // There is none now, which the first failure says better.
      if (error instanceof PosternError) return [];
      throw error;
    }
  }

  #choose(places: readonly PodPlace[]): PodPlace | undefined {
    const left = places.filter((place) => !this.#tried.has(textOf(place)));
    const { random = Math.random } = this.#parts;
    return left[Math.floor(random() * left.length)];
  }
}

/** How long a pod that has vanished may take to be replaced, in ms. */
const patience = 3_000;

function textOf({ namespace, pod, port }: PodPlace): string {
  return `${namespace}/${pod}:${port}`;
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
    `Cannot find ${formatTarget(target)} in ${cluster}: no name of a cluster`,
    {
      hint: "names are svc, svc.namespace, svc.namespace.svc or with the cluster's domain behind that",
    },
  );
}
