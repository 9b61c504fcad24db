import type { Log, Metric, Tasks } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { openClusterOfProgram } from "../cluster_of_program.ts";
import { LeaseMetrics } from "./lease_metrics.ts";
import { ServerLease } from "./server_lease.ts";

/** What a server asks of a cluster's API. */
export interface ServerClusterSettings {
  /** The cluster it runs in when absent. */
  readonly kubeconfig?: string | undefined;
  /** Whose tokens agents sign in with, in place of certificates. */
  readonly tokens?: {
    readonly namespace: string;
    readonly serviceAccount: string;
    readonly audience: string;
  };
  /** Where its Lease is, by which agents count servers. */
  readonly lease?: { readonly namespace: string; readonly labels: Readonly<Record<string, string>> };
}

/** The cluster of a server: whose an agent's token is, and the Lease by which agents count servers. */
export interface ServerCluster extends AsyncDisposable {
  /** Fails where a token is not that of an agent. */
  readonly authenticate?: (token: string, options: { signal: AbortSignal }) => Promise<void>;
  /** Keeps the Lease until the tasks end. */
  start(tasks: Tasks): void;
  /** Takes it back. */
  stop(): Promise<void>;
  metrics(): Metric[];
}

/** Opens the cluster; undefined where nothing is asked of any. */
export async function openServerCluster(
  settings: ServerClusterSettings,
  world: World,
  { log, serverId, prefix }: { readonly log: Log; readonly serverId: string; readonly prefix: string },
): Promise<ServerCluster | undefined> {
  const { kubeconfig, tokens, lease: wanted } = settings;
  if (!tokens && !wanted) return undefined;
  const { clock } = world;
  const { loadKubernetes } = await import("../../kube/mod.ts");
  const { Leases, reviewToken } = await loadKubernetes();
  const cluster = await openClusterOfProgram(kubeconfig, world);
  const counted = new LeaseMetrics({
    clock,
    prefix,
    label: "http_status_code",
    verbs: {
      list: { total: "lease_list_total", latency: "lease_list_latency_seconds" },
      delete: { total: "lease_delete_total", latency: "lease_delete_latency_seconds" },
    },
  });
  const lease = wanted && new ServerLease({
    leases: new Leases(counted.counting(cluster.api), wanted.namespace),
    clock,
    log,
    serverId,
    labels: wanted.labels,
    random: Math.random,
  });
  return {
    ...tokens && {
      authenticate: async (token: string, { signal }: { signal: AbortSignal }) => {
        const name = await reviewToken(cluster.api, { token, audience: tokens.audience }, { signal });
        const expected = `system:serviceaccount:${tokens.namespace}:${tokens.serviceAccount}`;
        if (name === expected) return;
        throw new PosternError("auth", `Cannot take the token of "${name}": agents are "${expected}"`, {
          hint: "--agent-namespace and --agent-service-account say whose tokens are taken",
        });
      },
    },
    start: (tasks) => void (lease && tasks.spawn((signal) => lease.run({ signal }))),
    stop: async () => await lease?.remove(),
    metrics: () =>
      lease
        ? [...counted.metrics(), {
          kind: "counter",
          name: `${prefix}culled_leases_count`,
          help: "Leases of other servers that were removed since they were over.",
          samples: [{ labels: {}, value: lease.culled }],
        }]
        : [],
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}
