import { describe } from "../../words/mod.ts";
import type { Log, Metric } from "../../core/mod.ts";
import type { World } from "../../world/mod.ts";
import { openClusterOfProgram } from "../cluster_of_program.ts";
import { LeaseMetrics } from "./lease_metrics.ts";

export interface LeaseCountSettings {
  /** The cluster that it runs in when absent. */
  readonly kubeconfig?: string | undefined;
  readonly namespace: string;
  readonly selector: string;
  readonly source: "default" | "max";
}

/** How many servers there are, by the Leases that they keep. */
export interface LeaseCount extends AsyncDisposable {
  /** `told` is what servers say, which counts until there is a list. */
  count(told: number): number;
  /** Watches until the signal ends. */
  run(options: { readonly signal: AbortSignal }): Promise<void>;
  metrics(): Metric[];
}

/** Opens the cluster whose Leases are counted; asks nothing yet. */
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
