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
import { type ClusterProxyChoice, wayToServer } from "./way_to_server.ts";

/** What a Konnectivity agent is started with. */
export interface KonnectivityAgentSettings {
  /** The port for agents of the server, or of a balancer in front of many. */
  readonly server: Target;
  readonly tls: TlsFiles;
  readonly tokenFile?: string;
  readonly id: string;
  readonly identifiers: string;
  readonly health: Endpoint;
  readonly admin: Endpoint;
  /** Said in TLS besides h2, for who shares the server's address. */
  readonly alpn: readonly string[];
  /** How long, in ms, a server may be silent before it is asked for a sign of life. */
  readonly pulse: number;
  /** By whose Leases servers are counted. */
  readonly leases?: {
    /** The cluster it runs in when absent. */
    readonly kubeconfig?: string;
    readonly namespace: string;
    readonly selector: string;
    /** What is believed of Leases and of what servers say: the Leases, or the larger number. */
    readonly source: "default" | "max";
  };
  /** The server is reached through the proxy that a cluster has accepted, not straight. */
  readonly clusterProxy?: ClusterProxyChoice;
  /** Looks for more servers for ever. */
  readonly looksForever: boolean;
  /** In ms. */
  readonly retry: { readonly first: number; readonly most: number };
  /** Patterns of what it may be asked to connect to; everything when there are none. */
  readonly allowed: readonly string[];
}

export interface KonnectivityAgentOptions {
  readonly log: Log;
  readonly onReady: (addresses: { health: string }) => Promise<void>;
  /** Asks for no more connections, and lets those there are end. */
  readonly draining: AbortSignal;
}

/** Runs an agent until the signal ends it, or until it has drained and nothing is open any more. */
export async function runKonnectivityAgent(
  settings: KonnectivityAgentSettings,
  world: World,
  { log, onReady, draining, signal }: KonnectivityAgentOptions & { signal: AbortSignal },
): Promise<void> {
  const { clock, network, files } = world;
  const { adminPages, healthPages, KonnectivityAgent } = await loadKonnectivity();
  await using way = await wayToServer(settings.clusterProxy, world);
  const dialer = directDialer({ network, clock });
  const allowed = new AllowedTargets(settings.allowed);
  const record = new TunnelRecord({
    clock,
    log,
    prefix,
    failures: {
      name: "endpoint_dial_failure_total",
      help: "Dials that failed, by reason.",
      reasonOf: ({ code }) => code === "timeout" ? "timeout" : "unknown",
    },
    bounds: [0.005, 0.025, 0.1, 0.5, 2.5, 10, 30],
    open: { name: "open_endpoint_connections", help: "Connections that are open." },
    connect: (target, options) => {
      if (allowed.has(target)) return dialWithin(dialer, target, world, options);
      throw new PosternError("not_allowed", `${target.host}:${target.port} is not allowed by this agent`);
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
      const late = () =>
        new PosternError("timeout", "Cannot reach the Konnectivity server: it does not answer");
      return await within({ clock, ms: joinLimit, signal, error: late }, async (signal) => {
        // Before there is a connection that a file which cannot be read would leave open.
        const texts = await readTls(settings.tls, { files, clock });
        const conn = await way.dial(settings.server, { signal });
        return await network.secure(conn, {
          serverName: settings.server.host,
          alpn: ["h2", ...settings.alpn],
          ...texts,
          // Who names an authority means that one, as with upstream's agent.
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
      gauge(`${prefix}open_server_connections`, "Servers that it is connected to.", agent.servers.length),
      gauge(`${prefix}known_server_count`, "Servers that it looks for.", agent.wanted),
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
      () => over.abort(new PosternError("cancelled", "Nothing is open any more")),
      () => {},
    );
  });
  await agent.run({ signal: over.signal }).catch((error) => {
    if (!over.signal.aborted) throw error;
  });
}

/** As upstream's agent: five seconds for one dial. */
function dialWithin(
  dialer: Dialer,
  target: Target,
  { clock }: World,
  { signal }: { signal: AbortSignal },
): ReturnType<Dialer> {
  const late = () => new PosternError("timeout", `Cannot reach ${target.host}:${target.port} within 5 s`);
  return within({ clock, ms: 5000, signal, error: late }, (signal) => dialer(target, { signal }));
}

const prefix = "konnectivity_network_proxy_agent_";
const joinLimit = 10_000;
