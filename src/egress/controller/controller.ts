import {
  type KubeApi,
  type KubeWatch,
  type Leadership,
  loadKubernetes,
  type ObjectKind,
  type WatchSink,
} from "../../kube/mod.ts";
import {
  type Clock,
  Counter,
  hexText,
  type Log,
  type Metric,
  pause,
  sha256,
  Tasks,
  whenAborted,
} from "../../core/mod.ts";
import { describe, PosternError } from "../../words/mod.ts";
import { isMapping } from "../../config/mod.ts";
import type { AutomaticSettings } from "../no_proxy/automatic_no_proxy.ts";
import type { CaCertificate } from "../ca_bundle.ts";
import { injectBundleLabel } from "../inject_bundle.ts";
import { BundleTargets } from "./bundle_targets.ts";
import { FencedObjects } from "./fenced_objects.ts";
import { clusterName, configNamespace, installConfig, kinds, managedBundle } from "./kinds.ts";
import { Notes } from "./notes.ts";
import { uidOf } from "./ownership.ts";
import { type Accepted, type Probe, ProxyReconciler, proxyStatusOf } from "./proxy_reconciler.ts";
import { WorkQueue } from "./work_queue.ts";
import { workloadKinds, WorkloadTargets } from "./workload_targets.ts";

export interface EgressControllerParts {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly probe: Probe;
  /** The namespace of the report. */
  readonly namespace: string;
  /** The name of this replica. */
  readonly instance: string;
  readonly settings: AutomaticSettings;
  readonly system: readonly CaCertificate[];
  /** Also writes objects that another controller manages. */
  readonly takesOver: boolean;
}

/** Counts over all terms of leadership. */
export interface EgressCounts {
  readonly writes: Counter;
  readonly looks: Counter;
}

/**
 * Manages the cluster's proxy, its CA bundle, and the objects that request either. Writes only while it is
 * the leader.
 */
export class EgressController {
  readonly #parts: EgressControllerParts;
  readonly #counts: EgressCounts = {
    writes: new Counter("postern_egress_writes_total", "Writes by kind and outcome.", [
      "kind",
      "outcome",
    ]),
    looks: new Counter("postern_egress_reconciles_total", "Reconciliations of the proxy by outcome.", [
      "outcome",
    ]),
  };
  #term: Term | undefined;

  constructor(parts: EgressControllerParts) {
    this.#parts = parts;
  }

  /**
   * Whether the last change of the proxy was accepted; undefined before the first check and on other
   * replicas.
   */
  get isAccepted(): boolean | undefined {
    return this.#term?.reconciler.isAccepted;
  }

  /** Runs until the leadership ends; throws `config` when another controller manages the proxy. */
  async lead(leadership: Leadership): Promise<void> {
    const { KubeObjects, KubeWatch } = await loadKubernetes();
    const objects = new FencedObjects({
      objects: new KubeObjects(this.#parts.api),
      leadership,
      writes: this.#counts.writes,
    });
    await using term = new Term(this.#parts, {
      objects,
      counts: this.#counts,
      signal: leadership.signal,
      KubeWatch,
    });
    this.#term = term;
    try {
      await term.run();
    } finally {
      this.#term = undefined;
    }
  }

  metrics(): Metric[] {
    const { writes, looks } = this.#counts;
    return [writes.metric(), looks.metric(), ...this.#term?.metrics() ?? []];
  }
}

interface TermParts {
  readonly objects: FencedObjects;
  readonly counts: EgressCounts;
  readonly signal: AbortSignal;
  readonly KubeWatch: typeof KubeWatch;
}

/** The only key of the proxy's queue. */
const proxyKey = "proxy";
/** In ms. Catches changes that no watch reports, such as expired certificates. */
const lookEvery = 600_000;

/** One term of leadership; frees its state at the end. */
class Term implements AsyncDisposable {
  readonly reconciler: ProxyReconciler;
  readonly #parts: EgressControllerParts;
  readonly #term: TermParts;
  readonly #own = new AbortController();
  readonly #passing: Disposable;
  readonly #tasks: Tasks;
  readonly #notes: Notes;
  readonly #bundles: BundleTargets;
  readonly #workloads: WorkloadTargets;
  readonly #queue: WorkQueue;
  #targetsWatched = { bundles: false, workloads: false };

  constructor(parts: EgressControllerParts, term: TermParts) {
    this.#parts = parts;
    this.#term = term;
    const { clock, log, random, instance, takesOver } = parts;
    const { objects, counts } = term;
    this.#passing = whenAborted(term.signal, () => this.#own.abort(term.signal.reason));
    const { signal } = this.#own;
    this.#tasks = new Tasks(signal, (error) => log.error("egress.failed", { reason: describe(error) }));
    const notes = this.#notes = new Notes({ objects, clock, log, instance }, { signal });
    this.#bundles = new BundleTargets({ objects, notes, clock, random, takesOver }, { signal });
    this.#workloads = new WorkloadTargets({ objects, notes, clock, random }, { signal });
    this.reconciler = new ProxyReconciler({
      ...parts,
      objects,
      notes,
      onAccepted: (accepted) => this.#accepted(accepted),
    });
    this.#queue = new WorkQueue(signal, {
      clock,
      random,
      most: 1,
      work: async (_key, options) => {
        const outcome = await this.reconciler.reconcile(options);
        counts.looks.add(1, this.reconciler.isAccepted === true ? "accepted" : "refused");
        return outcome;
      },
      onError: (_key, error) => {
        if (signal.aborted) return;
        counts.looks.add(1, "failed");
        if (error instanceof PosternError && error.detail === "owned") this.#own.abort(error);
        else log.warn("egress.reconcile_failed", { reason: describe(error) });
      },
    });
  }

  async run(): Promise<void> {
    const { signal } = this.#own;
    this.#watchInputs();
    this.#queue.add(proxyKey);
    this.#tasks.spawn(async (signal) => {
      while (true) {
        await pause(this.#parts.clock, lookEvery * (0.75 + this.#parts.random() / 2), { signal });
        this.#queue.add(proxyKey);
      }
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    using _ended = whenAborted(signal, resolve);
    await promise;
    throw signal.reason;
  }

  metrics(): Metric[] {
    const gauge = (name: string, help: string, samples: Readonly<Record<string, number>>): Metric => ({
      kind: "gauge",
      name,
      help,
      samples: Object.entries(samples).map(([of, value]) => ({ labels: { of }, value })),
    });
    const { isAccepted } = this.reconciler;
    return [
      ...this.#notes.metrics(),
      gauge("postern_egress_targets", "Objects that request a bundle or the proxy.", {
        bundle: this.#bundles.size,
        proxy: this.#workloads.size,
      }),
      gauge("postern_egress_pending", "Objects that wait for a write.", {
        bundle: this.#bundles.pending,
        proxy: this.#workloads.pending,
      }),
      {
        kind: "gauge",
        name: "postern_egress_accepted",
        help: "Whether the last change of the proxy was accepted.",
        samples: isAccepted === undefined ? [] : [{ labels: {}, value: isAccepted ? 1 : 0 }],
      },
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#passing[Symbol.dispose]();
    this.#own.abort(new PosternError("cancelled", "This replica is no longer the leader"));
    await this.#tasks[Symbol.asyncDispose]();
    await this.#queue[Symbol.asyncDispose]();
    await this.#bundles[Symbol.asyncDispose]();
    await this.#workloads[Symbol.asyncDispose]();
    await this.#notes[Symbol.asyncDispose]();
  }

  /** Watches the proxy's inputs and our outputs; each change starts a reconciliation. */
  #watchInputs(): void {
    const look = () => this.#queue.hurry(proxyKey);
    const only = (name: string): WatchSink => ({
      put: (_object, meta) => void (meta.name === name && look()),
      remove: (meta) => void (meta.name === name && look()),
    });
    let seen = "";
    this.#watch(kinds.proxy, {
      put: (object, { name }) => {
        if (name === clusterName) {
          // Writing our conditions must not start another reconciliation.
          const now = JSON.stringify(
            isMapping(object) ? [uidOf(object), object["spec"], proxyStatusOf(object)] : [],
          );
          if (now !== seen) look();
          seen = now;
        } else {
          const message = `Ignored: postern reads only the Proxy named "${clusterName}"`;
          this.#notes.say(kinds.proxy, { name }, { type: "Warning", reason: "Ignored", message });
        }
      },
      remove: ({ name }) => {
        if (name !== clusterName) return;
        seen = "";
        look();
      },
    });
    this.#watch(kinds.infrastructure, only(clusterName));
    this.#watch(kinds.network, only(clusterName));
    this.#watch(kinds.configMap, { put: look, remove: look }, { namespace: configNamespace, page: 50 });
    for (const { namespace, name } of [managedBundle, installConfig]) {
      this.#watch(kinds.configMap, only(name), { namespace, fields: `metadata.name=${name}` });
    }
  }

  /** Starts the target watches when the first values exist. */
  async #accepted({ status, bundle }: Accepted): Promise<void> {
    if (bundle !== undefined) {
      this.#bundles.want({ text: bundle, hash: hexText(await sha256(bundle)) });
      if (!this.#targetsWatched.bundles) {
        this.#targetsWatched = { ...this.#targetsWatched, bundles: true };
        this.#watch(kinds.configMap, this.#bundles.sink, { labels: `${injectBundleLabel}=true`, page: 25 });
      }
    }
    this.#workloads.want(status);
    if (this.#targetsWatched.workloads) return;
    this.#targetsWatched = { ...this.#targetsWatched, workloads: true };
    for (const kind of workloadKinds) this.#watch(kind, this.#workloads.sinkOf(kind), { page: 100 });
  }

  #watch(
    { apiVersion, resource }: ObjectKind,
    sink: WatchSink,
    more: {
      readonly namespace?: string;
      readonly labels?: string;
      readonly fields?: string;
      readonly page?: number;
    } = {},
  ): void {
    const { KubeWatch } = this.#term;
    const watch = new KubeWatch(this.#parts, {
      apiVersion,
      resource,
      namespace: undefined,
      ...more,
      sink,
      onChange: () => {},
      persists: true,
    });
    this.#tasks.spawn((signal) => watch.run({ signal }));
  }
}
