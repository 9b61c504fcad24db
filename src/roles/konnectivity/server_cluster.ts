import type { Log, Metric, Tasks } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { openClusterOfProgram } from "../cluster_of_program.ts";
import { LeaseMetrics } from "./lease_metrics.ts";
import { ServerLease } from "./server_lease.ts";

/** The server's use of a cluster's API. */
export interface ServerClusterSettings {
  /** A kubeconfig; absent in a pod, which uses its own cluster. */
  readonly kubeconfig?: string | undefined;
  /** The service account whose tokens agents use instead of certificates. */
  readonly tokens?: {
    readonly namespace: string;
    readonly serviceAccount: string;
    readonly audience: string;
  };
  /** The place and labels of its Lease; agents count servers by their Leases. */
  readonly lease?: { readonly namespace: string; readonly labels: Readonly<Record<string, string>> };
}

/** A server's cluster: it checks agents' tokens and holds the Lease that counts this server. */
export interface ServerCluster extends AsyncDisposable {
  /** Throws unless the token belongs to an agent. */
  readonly authenticate?: (token: string, options: { signal: AbortSignal }) => Promise<void>;
  /** Renews the Lease until the tasks end. */
  start(tasks: Tasks): void;
  /** Deletes the Lease. */
  stop(): Promise<void>;
  metrics(): Metric[];
}

/** Opens the cluster; undefined when the settings need none. */
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
        throw new PosternError("auth", `Cannot accept the token of "${name}": agents must be "${expected}"`, {
          hint: "set the agents' account with --agent-namespace and --agent-service-account",
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
          help: "Expired Leases of other servers that this server deleted.",
          samples: [{ labels: {}, value: lease.culled }],
        }]
        : [],
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}
