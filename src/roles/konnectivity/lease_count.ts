import { describe } from "../../words/mod.ts";
import type { Log, Metric } from "../../core/mod.ts";
import type { World } from "../../world/mod.ts";
import { openClusterOfProgram } from "../cluster_of_program.ts";
import { LeaseMetrics } from "./lease_metrics.ts";

export interface LeaseCountSettings {
  /** A kubeconfig; absent in a pod, which uses its own cluster. */
  readonly kubeconfig?: string | undefined;
  readonly namespace: string;
  readonly selector: string;
  readonly source: "default" | "max";
}

/** Counts servers by their Leases. */
export interface LeaseCount extends AsyncDisposable {
  /** `told` is the number that servers report; it counts until the first list of Leases. */
  count(told: number): number;
  /** Watches the Leases until the signal aborts. */
  run(options: { readonly signal: AbortSignal }): Promise<void>;
  metrics(): Metric[];
}

/** Opens the cluster with the Leases; sends no request yet. */
export async function openLeaseCount(
  { kubeconfig, namespace, selector, source }: LeaseCountSettings,
  world: World,
  { log, prefix }: { readonly log: Log; readonly prefix: string },
): Promise<LeaseCount> {
  const { clock } = world;
  const { loadKubernetes } = await import("../../kube/mod.ts");
  const { LeaseWatch } = await loadKubernetes();
  const cluster = await openClusterOfProgram(kubeconfig, world);
  const counted = new LeaseMetrics({
    clock,
    prefix,
    label: "http_response_code",
    verbs: {
      list: { total: "lease_lists_total", latency: "lease_list_latency_seconds" },
      watch: { total: "lease_watches_total" },
    },
  });
  const watch = new LeaseWatch({
    ...{ clock, namespace, selector },
    api: counted.counting(cluster.api),
    random: Math.random,
    onFailure: (error) => log.warn("leases.unknown", { reason: describe(error) }),
  });
  let last: number | undefined;
  return {
    count(told) {
      const known = watch.count;
      const count = known === undefined || source === "max" ? Math.max(known ?? 0, told) : known;
      if (known !== undefined && known !== last) log.info("servers.counted", { leases: last = known, told });
      return count;
    },
    run: (options) => watch.run(options),
    metrics: () => counted.metrics(),
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}
