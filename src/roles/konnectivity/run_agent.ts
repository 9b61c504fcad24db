import { Deadlines, type Log, Tasks, whenAborted, within } from "../../core/mod.ts";
import { describe, type Endpoint, formatTarget, PosternError, type Target } from "../../words/mod.ts";
import type { Dialer, World } from "../../world/mod.ts";
import { loadKonnectivity } from "../../konnectivity/mod.ts";
import { serveAdminAt, serveListener } from "../../listeners/mod.ts";
import { directDialer } from "../../http/mod.ts";
import { listenAnywhere } from "../../instance/mod.ts";
import { AllowedTargets } from "./allowed_targets.ts";
import { openLeaseCount } from "./lease_count.ts";
import { PacketCounts } from "./packet_counts.ts";
import { boundIfFree } from "./run_server.ts";
import { readTls, type TlsFiles } from "./tls_files.ts";
import { gauge, TunnelRecord } from "./tunnel_record.ts";
import { type ClusterProxyChoice, serverTransport } from "./server_transport.ts";

export interface KonnectivityAgentSettings {
  /** The agent port of the server or of a load balancer. */
  readonly server: Target;
  readonly tls: TlsFiles;
  readonly tokenFile?: string | undefined;
  readonly id: string;
  readonly identifiers: string;
  readonly health: Endpoint;
  readonly admin: Endpoint;
  /** Additional ALPN names after h2, for servers that share the address. */
  readonly alpn: readonly string[];
  /** In ms: send a ping after this time without data from a server. */
  readonly pulse: number;
  /** The Leases that count the servers. */
  readonly leases?: {
    /** A kubeconfig; absent in a pod, which uses its own cluster. */
    readonly kubeconfig?: string | undefined;
    readonly namespace: string;
    readonly selector: string;
    /** Which number counts: the Leases, or the larger of Leases and server reports. */
    readonly source: "default" | "max";
  };
  /** Reaches the server through a cluster's accepted proxy instead of directly. */
  readonly clusterProxy?: ClusterProxyChoice;
  /** Never stops looking for more servers. */
  readonly looksForever: boolean;
  /** In ms. */
  readonly retry: { readonly first: number; readonly most: number };
  /** Patterns of the allowed targets; every target when empty. */
  readonly allowed: readonly string[];
}

export interface KonnectivityAgentOptions {
  readonly log: Log;
  readonly onReady: (addresses: { health: string }) => Promise<void>;
  /** Accepts no new connections and lets open ones finish. */
  readonly draining: AbortSignal;
}

/** Runs an agent until the signal aborts, or until it has drained. */
export async function runKonnectivityAgent(
  settings: KonnectivityAgentSettings,
  world: World,
  { log, onReady, draining, signal }: KonnectivityAgentOptions & { signal: AbortSignal },
): Promise<void> {
  const { clock, network, files } = world;
  const { adminPages, healthPages, KonnectivityAgent } = await loadKonnectivity();
  await using transport = await serverTransport(settings.clusterProxy, world);
  const dialer = directDialer({ network, clock });
  const allowed = new AllowedTargets(settings.allowed);
  const record = new TunnelRecord({
    clock,
    log,
    prefix,
    failures: {
      name: "endpoint_dial_failure_total",
      help: "Failed dials by reason.",
      reasonOf: ({ code }) => code === "timeout" ? "timeout" : "unknown",
    },
    bounds: [0.005, 0.025, 0.1, 0.5, 2.5, 10, 30],
    open: { name: "open_endpoint_connections", help: "Open connections." },
    connect: (target, options) => {
      if (allowed.has(target)) return dialWithin(dialer, target, world, options);
      throw new PosternError(
        "not_allowed",
        `${target.host}:${target.port} is not allowed: no --allow-target of this agent matches`,
      );
    },
  });
  const { tokenFile, leases } = settings;
  const over = new AbortController();
  using _pass = whenAborted(signal, () => over.abort(signal.reason));
  await using counted = leases && await openLeaseCount(leases, world, { log, prefix });
  using deadlines = new Deadlines(clock);
  await using tasks = new Tasks(
    over.signal,
    (error) => log.error("agent.failed", { reason: describe(error) }),
  );
  const packets = new PacketCounts(clock, prefix);
  const agent = new KonnectivityAgent({
    clock,
    log,
    id: settings.id,
    identifiers: settings.identifiers,
    authority: `${settings.server.host}:${settings.server.port}`,
    ...(tokenFile !== undefined && { token: () => files.readText(tokenFile, { limit: 64 * 1024 }) }),
    dial: record.dial,
    halfCloseLinger: 5000,
    most: 20_000,
    retry: settings.retry,
    random: Math.random,
    pulse: settings.pulse,
    looksForever: settings.looksForever,
    packets: packets.between("from_agent", "to_agent"),
    ...counted && { count: counted.count },
    connect: async ({ signal }) => {
      const late = () => new PosternError("timeout", "Cannot reach the Konnectivity server: timeout");
      return await within({ clock, ms: joinLimit, signal, error: late }, async (signal) => {
        // Read the files before connecting: an unreadable file must not leave a connection open.
        const texts = await readTls(settings.tls, { files, clock });
        const conn = await transport.dial(settings.server, { signal });
        return await network.secure(conn, {
          serverName: settings.server.host,
          alpn: ["h2", ...settings.alpn],
          ...texts,
          // Trust only the given CA, like upstream's agent.
          ...(texts.ca !== undefined && { trust: "ca" }),
          signal,
        });
      });
    },
  });
  const pages = healthPages({
    checks: [{ name: "ping", isSo: () => true }, { name: "server-connected", isSo: () => agent.isReady }],
    notReady: 503,
    metrics: () => [
      ...record.metrics(),
      gauge(`${prefix}open_server_connections`, "Connected servers.", agent.servers.length),
      gauge(`${prefix}known_server_count`, "Servers that this agent wants to connect to.", agent.wanted),
      ...packets.metrics(),
      ...counted?.metrics() ?? [],
    ],
  });
  await using health = listenAnywhere(network, settings.health);
  const limits = { connections: 100, handshake: 10_000, halfCloseLinger: 5000 };
  const deps = { dial: record.dial, clock, log, deadlines, limits, pages };
  tasks.spawn((signal) => serveListener(health, serveAdminAt(health.endpoint), deps, { signal }));
  const { endpoint } = health;
  await using admin = await boundIfFree(() => Promise.resolve(listenAnywhere(network, settings.admin)), log);
  if (admin && "port" in endpoint) {
    const pages = adminPages({ healthPort: endpoint.port });
    tasks.spawn((signal) =>
      serveListener(admin, serveAdminAt(admin.endpoint), { ...deps, pages }, { signal })
    );
  }
  if (counted) tasks.spawn((signal) => counted.run({ signal }));
  await onReady({ health: "port" in endpoint ? formatTarget(endpoint) : endpoint.path });
  using _drain = whenAborted(draining, () => {
    log.info("agent.drains", { open: agent.connections });
    agent.drain({ signal: over.signal }).then(
      () => over.abort(new PosternError("cancelled", "The agent has drained")),
      () => {},
    );
  });
  await agent.run({ signal: over.signal }).catch((error) => {
    if (!over.signal.aborted) throw error;
  });
}

/** One dial may take five seconds, as in upstream's agent. */
function dialWithin(
  dialer: Dialer,
  target: Target,
  { clock }: World,
  { signal }: { signal: AbortSignal },
): ReturnType<Dialer> {
  const late = () =>
    new PosternError("timeout", `Cannot reach ${target.host}:${target.port}: timeout after 5 s`);
  return within({ clock, ms: 5000, signal, error: late }, (signal) => dialer(target, { signal }));
}

const prefix = "konnectivity_network_proxy_agent_";
const joinLimit = 10_000;
