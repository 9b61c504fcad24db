import { type Conn, Deadlines, type Log, Tasks, whenAborted, within } from "../../core/mod.ts";
import { describe, type Endpoint, formatTarget, PosternError } from "../../words/mod.ts";
import type { Listening, World } from "../../world/mod.ts";
import { type AgentStrategy, loadKonnectivity } from "../../konnectivity/mod.ts";
import {
  type ListenerDeps,
  type Serve,
  serveAdminAt,
  serveListener,
  type ServeOptions,
} from "../../listeners/mod.ts";
import { listenAnywhere, removeStaleSocket } from "../../instance/mod.ts";
import { openServerCluster, type ServerClusterSettings } from "./server_cluster.ts";
import { ServerMetrics, serverPrefix } from "./server_metrics.ts";
import { type TlsFiles, WatchedTls } from "./tls_files.ts";

export interface KonnectivityServerSettings {
  readonly mode: "grpc" | "http-connect";
  readonly id: string;
  /** The number of servers that agents connect to. */
  readonly count: number;
  readonly strategies: readonly AgentStrategy[];
  readonly front: Endpoint;
  readonly agents: Endpoint;
  readonly health: Endpoint;
  readonly admin: Endpoint;
  /** Whether to replace a stale socket of a former server. */
  readonly replacesSocket: boolean;
  /** The frontend's TLS files; without them the frontend must be a Unix socket. */
  readonly frontTls: TlsFiles;
  readonly agentTls: TlsFiles;
  /** The minimum TLS version, for clients and agents. */
  readonly minVersion?: "TLSv1.2" | "TLSv1.3";
  readonly cluster: ServerClusterSettings;
  /** In ms. */
  readonly dialTimeout: number;
  readonly drain: number;
  /** In ms: send a ping after this time without data from an agent or client. */
  readonly pulse: { readonly agents: number; readonly clients: number };
}

export interface KonnectivityServerOptions {
  readonly log: Log;
  readonly onReady: (addresses: { front: string; agents: string; health: string }) => Promise<void>;
}

/** Runs a server until the signal aborts; then accepts no more clients and drains open connections. */
export async function runKonnectivityServer(
  settings: KonnectivityServerSettings,
  world: World,
  { log, onReady, signal }: KonnectivityServerOptions & { signal: AbortSignal },
): Promise<void> {
  const { clock, network, files } = world;
  const { adminPages, Agents, healthPages, serveAgent, serveConnectFront, serveGrpcFront } =
    await loadKonnectivity();
  const agents = new Agents({
    clock,
    strategies: settings.strategies,
    dialTimeout: settings.dialTimeout,
    random: Math.random,
  });
  await using held = new AsyncDisposableStack();
  const cluster = await openServerCluster(settings.cluster, world, {
    log,
    serverId: settings.id,
    prefix: serverPrefix,
  });
  if (cluster) held.use(cluster);
  const { mode, strategies } = settings;
  const more = () => cluster?.metrics() ?? [];
  const metrics = new ServerMetrics({ clock, log, agents, strategies, mode, more });
  const { record } = metrics;
  using deadlines = new Deadlines(clock);
  // A TCP frontend must demand client certificates; file permissions protect a socket.
  const isSecure = settings.frontTls.cert !== undefined;
  if (!isSecure && !("path" in settings.front)) {
    throw new PosternError("config", "Cannot accept clients over TCP: missing certificate files", {
      hint: "set --server-ca-cert, --server-cert and --server-key, or --uds-name with --server-port=0",
    });
  }
  if (await network.canServeTls?.() === false) {
    throw new PosternError("config", "Cannot run a Konnectivity server: it needs Deno 2.9 or newer", {
      hint: "use a postern compiled with Deno 2.9 or newer",
    });
  }
  const pages = healthPages({
    checks: [{ name: "ping", isSo: () => true }, { name: "backends", isSo: () => agents.isReady }],
    notReady: 500,
    metrics: () => metrics.all(),
  });
  const limits = { connections: 10_000, handshake: 10_000, halfCloseLinger: 5000 };
  const deps: ListenerDeps = { dial: record.dial, clock, log, deadlines, limits, pages };
  const frontTls = new WatchedTls(settings.frontTls, world);
  const agentTls = new WatchedTls(settings.agentTls, world);
  const secured = (conn: Conn, tls: WatchedTls, alpn: readonly string[], signal: AbortSignal) =>
    within({ clock, ms: limits.handshake, signal, error: late }, async (signal) => {
      const { ca, cert, key } = await tls.read();
      if (cert === undefined || key === undefined) {
        throw new PosternError("config", "Cannot serve TLS: missing certificate or key", {
          hint: "name both files: --cluster-cert and --cluster-key, --server-cert and --server-key",
        });
      }
      const { minVersion } = settings;
      const options = {
        ...{ cert, key, alpn, signal },
        ...(ca !== undefined && { clientCa: ca }),
        ...(minVersion && { minVersion }),
      };
      return await network.secureAsServer(conn, options);
    });
  const isGrpc = mode === "grpc";
  const serveFront: Serve = async (client, _messages, deps, { signal, draining, unheard }) => {
    const alpn = isGrpc ? ["h2"] : ["http/1.1"];
    const conn = isSecure
      ? await welcomed(() => secured(client, frontTls, alpn, signal), client, { log, unheard })
      : client;
    if (!conn) return;
    const options = { signal, ...(draining && { draining }), ...(unheard && { unheard }) };
    if (!isGrpc) return await serveConnectFront(conn, deps, options);
    const count = () => metrics.clientStream();
    await serveGrpcFront(conn, deps, { ...options, pulse: settings.pulse.clients, count });
  };
  const serveBack: Serve = async (client, _messages, _deps, { signal, unheard }) => {
    const tls = () => secured(client, agentTls, ["h2"], signal);
    const conn = await welcomed(tls, client, { log, unheard });
    if (!conn) return;
    const server = { id: settings.id, count: () => settings.count };
    const { authenticate } = cluster ?? {};
    await serveAgent(conn, {
      ...{ agents, clock, log, server },
      authenticate,
      pulse: settings.pulse.agents,
      packets: metrics.agentPackets,
      onStray: () => metrics.stray(),
    }, { signal });
  };

  const bind = async (endpoint: Endpoint): Promise<Listening> => {
    if ("path" in endpoint && settings.replacesSocket) {
      await removeStaleSocket({ files, network }, endpoint.path);
    }
    const listening = listenAnywhere(network, endpoint);
    // Another server may have replaced the socket while this one drained.
    if ("path" in endpoint) held.defer(() => removeStaleSocket({ files, network }, endpoint.path));
    return held.use(listening);
  };
  const [front, back, health] = [
    await bind(settings.front),
    await bind(settings.agents),
    await bind(settings.health),
  ];
  const over = new AbortController();
  await using tasks = new Tasks(
    over.signal,
    (error) => log.error("listener.failed", { reason: describe(error) }),
  );
  const serving = [
    serveListener(front, serveFront, deps, { signal: over.signal }),
    serveListener(health, serveAdminAt(health.endpoint), deps, { signal: over.signal }),
    serveListener(back, serveBack, { ...deps, limits: { ...limits, connections: 10_000 } }, {
      signal: over.signal,
    }),
  ];
  for (const served of serving) tasks.spawn(() => served);
  const admin = await boundIfFree(() => bind(settings.admin), log);
  if (admin) {
    const pages = adminPages(() => metrics.all());
    tasks.spawn(() =>
      serveListener(admin, serveAdminAt(admin.endpoint), { ...deps, pages }, { signal: over.signal })
    );
  }
  cluster?.start(tasks);
  await onReady({ front: text(front), agents: text(back), health: text(health) });
  await new Promise<void>((resolve) => void whenAborted(signal, resolve));
  log.info("server.drains", { open: record.open });
  front.close();
  // The listener closes idle clients; active ones may finish.
  const end = clock.after(
    settings.drain,
    () => over.abort(new PosternError("cancelled", "The server was stopped")),
  );
  await serving[0]?.catch(() => {});
  end[Symbol.dispose]();
  over.abort(new PosternError("cancelled", "The server was stopped"));
  await tasks.idle();
  await cluster?.stop();
}

/**
 * Binds the admin port if it is free. Like upstream, run without it: its pages are also on the health port.
 */
export async function boundIfFree(
  bind: () => Promise<Listening>,
  log: Log,
): Promise<Listening | undefined> {
  try {
    return await bind();
  } catch (error) {
    log.warn("admin.unavailable", { reason: describe(error) });
    return undefined;
  }
}

/** Logs a failed TLS handshake of a client instead of failing. */
async function welcomed(
  secure: () => Promise<Conn>,
  client: Conn,
  { log, unheard }: { readonly log: Log; readonly unheard: ServeOptions["unheard"] },
): Promise<Conn | undefined> {
  try {
    unheard?.add(client);
    return await secure();
  } catch (error) {
    client.abort(error);
    log.warn("client.refused", { client: client.peer, reason: describe(error) });
    return undefined;
  } finally {
    unheard?.delete(client);
  }
}

function late(): PosternError {
  return new PosternError("timeout", "Cannot finish the client's TLS handshake: timeout");
}

function text({ endpoint }: Listening): string {
  return "path" in endpoint ? `unix:${endpoint.path}` : formatTarget(endpoint);
}
