import type { LeaseTimes } from "../../kube/mod.ts";
import { Deadlines, type Log, Tasks, whenAborted } from "../../core/mod.ts";
import { describe, type Endpoint, formatTarget, PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import {
  type AutomaticSettings,
  type CaCertificate,
  loadEgressController,
  readSystemBundle,
} from "../../egress/mod.ts";
import { loadKonnectivity } from "../../konnectivity/mod.ts";
import { serveAdminAt, serveListener } from "../../listeners/mod.ts";
import { openClusterOfProgram } from "../cluster_of_program.ts";
import { listenAnywhere } from "../../instance/mod.ts";
import { gauge } from "../konnectivity/tunnel_record.ts";
import { straightProbe } from "./straight_probe.ts";

export interface EgressControllerSettings {
  /** A kubeconfig; undefined in a pod, which uses its own cluster. */
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  /** The namespace of its Lease and report (default: its own). */
  readonly namespace: string | undefined;
  readonly health: Endpoint;
  readonly lease: LeaseTimes;
  readonly automatic: AutomaticSettings;
  /** Whether the bundle includes the system's certificates in addition to the administrator's. */
  readonly systemTrust: "include" | "omit";
  readonly takesOver: boolean;
  /** Timeout of one probe of an endpoint, in ms. */
  readonly probeTimeout: number;
}

export interface EgressControllerOptions {
  readonly log: Log;
  readonly onReady: (addresses: { health: string }) => Promise<void>;
  /** Releases the leadership and stops. */
  readonly draining: AbortSignal;
}

/** The Lease that all replicas share. */
const leaseName = "postern-egress-controller";
/** The maximum number of concurrent requests to the API server; one change can write thousands of objects. */
const mostRequests = 8;

/** Runs a controller until it is stopped, or throws `config` when another controller manages the proxy. */
export async function runEgressController(
  settings: EgressControllerSettings,
  world: World,
  { log, onReady, draining, signal }: EgressControllerOptions & { signal: AbortSignal },
): Promise<void> {
  const { clock, network, process } = world;
  const { kubeconfig, context, lease, takesOver } = settings;
  const system = await systemTrust(settings, world);
  const { loadKubernetes } = await import("../../kube/mod.ts");
  const [{ LeaderElection, Leases }, { EgressController }, { healthPages }] = await Promise.all([
    loadKubernetes(),
    loadEgressController(),
    loadKonnectivity(),
  ]);
  await using cluster = await openClusterOfProgram(kubeconfig, world, { context, most: mostRequests });
  const { api } = cluster;
  const namespace = settings.namespace ?? cluster.namespace;
  const instance = `${process.hostName}_${crypto.randomUUID()}`;
  const controller = new EgressController({
    api,
    clock,
    log,
    random: Math.random,
    probe: straightProbe(world, settings.probeTimeout),
    namespace,
    instance,
    settings: settings.automatic,
    system,
    takesOver,
  });
  const election = new LeaderElection({
    leases: new Leases(api, namespace),
    name: leaseName,
    identity: instance,
    clock,
    log,
    random: Math.random,
    times: lease,
  });
  using deadlines = new Deadlines(clock);
  const pages = healthPages({
    checks: [
      // A standby replica is ready.
      { name: "lease", isSo: () => election.holder !== undefined },
      { name: "looked", isSo: () => !election.isLeading || controller.isAccepted !== undefined },
    ],
    notReady: 503,
    metrics: () => [
      gauge("postern_egress_leader", "Whether this replica is the leader.", election.isLeading ? 1 : 0),
      gauge("process_resident_memory_bytes", "Resident memory.", process.memory()),
      ...controller.metrics(),
    ],
  });
  const over = new AbortController();
  using _stop = whenAborted(signal, () => over.abort(signal.reason));
  await using tasks = new Tasks(
    over.signal,
    (error) => log.error("egress.failed", { reason: describe(error) }),
  );
  await using health = listenAnywhere(network, settings.health);
  const limits = { connections: 100, handshake: 10_000, halfCloseLinger: 5000 };
  const refuse = () =>
    Promise.reject(new PosternError("not_allowed", "Cannot connect: this port serves only status pages"));
  tasks.spawn((signal) =>
    serveListener(health, serveAdminAt(health.endpoint), {
      dial: refuse,
      clock,
      log,
      deadlines,
      limits,
      pages,
    }, {
      signal,
    })
  );
  const { endpoint } = health;
  await onReady({ health: "port" in endpoint ? formatTarget(endpoint) : endpoint.path });
  using _drain = whenAborted(draining, () => over.abort(draining.reason));
  try {
    await election.run((leadership) => controller.lead(leadership), { signal: over.signal });
  } catch (error) {
    signal.throwIfAborted();
    if (!draining.aborted) throw error;
  }
}

async function systemTrust(
  { systemTrust }: EgressControllerSettings,
  { network }: World,
): Promise<readonly CaCertificate[]> {
  if (systemTrust === "omit") return [];
  const certificates = await readSystemBundle(await network.trusted?.() ?? []);
  if (certificates.length > 0) return certificates;
  throw new PosternError("config", "Cannot build the CA bundle: this system has no trusted certificates", {
    hint: "set SSL_CERT_FILE to a PEM file, or leave out the system's certificates with --system-trust omit",
  });
}
