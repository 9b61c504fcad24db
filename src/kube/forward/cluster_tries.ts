import type { ClusterView } from "../api/cluster_view.ts";
import { type ClusterPlaces, findPlaces } from "../services/service_targets.ts";
import type { ClusterName } from "../services/service_names.ts";
import type { KubeApi } from "../api/kube_api.ts";
import type { PodPlace } from "../services/service_ports.ts";
import { type Clock, type Conn, type DialOptions, type Log, pause } from "../../core/mod.ts";
import { describe, formatTarget, PosternError, type Target } from "../../words/mod.ts";
import { podName } from "./forward_api.ts";
import { neverReachedPod } from "./forward_failure.ts";
import type { ForwardPool } from "./forward_pool.ts";
import { RetriedConn } from "./retried_conn.ts";
import type { UseCount } from "./use_count.ts";

export interface ClusterTriesParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly api: Pick<KubeApi, "name">;
  readonly view: ClusterView;
  readonly forwards: ForwardPool;
  /** The namespace of names without one. */
  readonly namespace: string;
  /** Returns a number from 0 to below 1, for the choice between endpoints. */
  readonly random?: (() => number) | undefined;
  readonly ended: AbortSignal;
  /** Keeps the cluster in use during a lookup. */
  readonly uses: UseCount;
}

/**
 * The attempts of one dial. After a pod that refuses or has vanished, it tries another one, up to a limit for
 * each cause.
 */
export class ClusterTries {
  readonly #target: Target;
  readonly #name: ClusterName;
  readonly #parts: ClusterTriesParts;
  readonly #tried = new Set<string>();
  /**
   * Pods that a session reported as gone. The report may concern an older pod of that name, so each gets one
   * retry in a new session.
   */
  readonly #doubted = new Map<string, "due" | "done">();
  /** The place of the last connection. */
  #last: PodPlace | undefined;
  readonly #left = { refused: 2, vanished: 8 };

  constructor(
    { target, name }: { readonly target: Target; readonly name: ClusterName },
    parts: ClusterTriesParts,
  ) {
    this.#target = target;
    this.#name = name;
    this.#parts = parts;
  }

  /** Resolves the name to its current places. */
  find(signal: AbortSignal): Promise<ClusterPlaces> {
    const { view, api, namespace } = this.#parts;
    return findPlaces(this.#name, this.#target.port, { view, cluster: api.name, namespace, signal });
  }

  async open(places: readonly PodPlace[], { onStep, signal }: DialOptions): Promise<Conn> {
    const { forwards } = this.#parts;
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
        onStep?.(`forwarding to port ${place.port} of the pod ${podName(place)}`);
        return new RetriedConn({
          first,
          next: (error, { signal }) => this.#following(error, this.#last ?? place, signal),
        });
      } catch (error) {
        if (signal.aborted) throw error;
        next = await this.#another(error, place, signal);
        if (!next) throw error;
      }
    }
  }

  /** Tries again for a connection that the caller already has, before its first byte. */
  async #following(
    error: unknown,
    failed: PodPlace,
    wanted: AbortSignal,
  ): Promise<Conn | undefined> {
    const { forwards, uses, ended } = this.#parts;
    using _use = uses.begin();
    const signal = AbortSignal.any([ended, wanted]);
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

  /** The next place after a failure; undefined if the dial must not retry. */
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

  /** An untried place. After a pod has vanished, waits for its replacement, because the watch lags behind. */
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
      await pause(clock, Math.max(1, end - clock.now()), { signal, until: promise });
    }
  }

  /**
   * Forgets attempts at places that have disappeared: if one returns, it is a new pod, since a StatefulSet
   * reuses names.
   */
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
      const found = await this.find(this.#parts.ended);
      return "places" in found ? found.places : [];
    } catch (error) {
      // No endpoint is left; the first failure describes that better.
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

/** How long to wait for the replacement of a vanished pod, in ms. */
const patience = 3_000;

function textOf({ namespace, pod, port }: PodPlace): string {
  return `${namespace}/${pod}:${port}`;
}
