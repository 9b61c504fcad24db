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

/** What an egress controller is started with. */
export interface EgressControllerSettings {
  /** Without one it is a pod of its cluster. */
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  /** Where its Lease and its report are; where it runs unless told. */
  readonly namespace: string | undefined;
  readonly health: Endpoint;
  readonly lease: LeaseTimes;
  readonly automatic: AutomaticSettings;
  /** Whether the bundle has what the system trusts, besides what the administrator trusts. */
  readonly systemTrust: "include" | "omit";
  readonly takesOver: boolean;
  /** For one attempt at an endpoint, in ms. */
  readonly probeTimeout: number;
}

export interface EgressControllerOptions {
  readonly log: Log;
  readonly onReady: (addresses: { health: string }) => Promise<void>;
  /** Gives the leadership back, and ends. */
  readonly draining: AbortSignal;
}

/** What the replicas of one controller share. */
const leaseName = "postern-egress-controller";
/** How many requests may be on their way to the API server: thousands of objects are written in one go. */
const mostRequests = 8;

/** Runs a controller until it is told to end, or until another one looks after the proxy (`config`). */
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
      // A replica that waits for its turn is as ready as one can be.
      { name: "lease", isSo: () => election.holder !== undefined },
      { name: "looked", isSo: () => !election.isLeading || controller.isAccepted !== undefined },
    ],
    notReady: 503,
    metrics: () => [
      gauge("postern_egress_leader", "Whether this replica leads.", election.isLeading ? 1 : 0),
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
    Promise.reject(new PosternError("not_allowed", "Cannot connect anywhere: this is no door"));
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
  throw new PosternError("config", "Cannot make a bundle: this system trusts no certificate", {
    hint: "name a file with SSL_CERT_FILE, or leave the system's certificates out with --system-trust omit",
  });
}
