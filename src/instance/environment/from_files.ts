import { formatPath, masked } from "../../config/mod.ts";
import { type Conn, type Log, within } from "../../core/mod.ts";
import { PosternError, type Target } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import type { ExplanationInfo, ProxyEnvironment, SshHosts } from "../../control/mod.ts";
import { ownedInside, pacFile } from "../../routing/mod.ts";
import { explainMeant, storedMeaningOf } from "../dns/meaning.ts";
import { configuredForwards, withForward } from "../listening/forward_at.ts";
import {
  type ConfigSource,
  demandLoaded,
  dialTimeout,
  listenOf,
  loadConfig,
  preparePath,
  readConfig,
  readUsers,
  settingsSchemaFor,
  transportOf,
  type TransportReport,
  transportReports,
  Transports,
} from "../../plan/mod.ts";
import {
  type EnvironmentListener,
  proxyEnvironment,
  type ProxyEnvironmentOptions,
  reachableAt,
} from "./proxy_environment.ts";

/** The result of `postern config check`. */
export interface ConfigCheck {
  /** Undefined if there is no file. */
  readonly path?: string;
  readonly errors: readonly string[];
  /** Includes the warnings of transports. */
  readonly warnings: readonly string[];
  /** Notes of transports that read other files. An instance starts despite these notes. */
  readonly transports: readonly TransportReport[];
}

/** Checks a configuration and the files that its transports read. */
export async function checkConfig(world: World, source: ConfigSource): Promise<ConfigCheck> {
  const { path, isThere, errors, warnings, loaded, place } = await readConfig(world, source);
  const checked = { ...(isThere && { path }), errors, warnings, transports: [] };
  if (!loaded) return checked;
  // Building the transports finds more problems; nothing is started.
  await using transports = new Transports(world, loaded);
  const reports = await transportReports(transports.plan);
  const told = reports.flatMap(({ name, notes }) =>
    notes.map(({ severity, text, hint }) => {
      const at = ["transports", name];
      const what = severity === "blocking" ? " cannot be used" : "";
      const more = hint === undefined ? "" : `; ${hint}`;
      return `${place(at)}: warning: ${formatPath(at)}${what}: ${text}${more}`;
    })
  );
  const owned = ownedInside(loaded.rules, await transports.learned({ signal: new AbortController().signal }));
  return { ...checked, warnings: [...warnings, ...told, ...owned], transports: reports };
}

/** The configuration as written, without its secrets. */
export async function showConfig(world: World, source: ConfigSource): Promise<unknown> {
  const report = await readConfig(world, { ...source, withoutCatalogues: true });
  demandLoaded(report);
  return masked(report.value, await settingsSchemaFor(report.value));
}

/** The result of `Instance.explain` without a running instance. */
export async function explainFromFiles(
  world: World,
  source: ConfigSource,
  { target, dial, id = "default", signal }: {
    target: Target;
    dial: boolean;
    id?: string;
    signal: AbortSignal;
  },
): Promise<ExplanationInfo> {
  const config = await loadConfig(world, source);
  await using transports = new Transports(world, config);
  const meaning = await storedMeaningOf(target, { world, settings: config.settings, id });
  await preparePath(transports.plan, meaning.target);
  const explanation = await explainMeant(transports, meaning, { dial, signal });
  return withForward(explanation, target, configuredForwards(config.settings));
}

export interface DialFromFilesOptions {
  readonly target: Target;
  /** The ssh hosts whose ProxyCommand requests the connection. */
  readonly hops?: readonly string[];
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** A connection of a command that runs without an instance. Disposing it ends the sessions below it. */
export interface DialedFromFiles extends AsyncDisposable {
  readonly conn: Conn;
  readonly halfCloseLinger: number;
}

/** Connects to a target as an instance with this configuration would. */
export async function dialFromFiles(
  world: World,
  source: ConfigSource,
  { target: asked, hops = [], log, signal }: DialFromFilesOptions,
): Promise<DialedFromFiles> {
  const config = await loadConfig(world, source);
  for (const warning of config.warnings) log.warn("config.warning", { warning });
  await using held = new AsyncDisposableStack();
  const transports = held.use(new Transports(world, config, { log }));
  const { settings } = config;
  const { target, failure } = await storedMeaningOf(asked, { world, settings, id: "default" });
  if (failure) throw failure.error;
  await preparePath(transports.plan, target);
  const { dial: limit, halfCloseLinger } = transports.plan.limits;
  const error = () => dialTimeout(target, limit);
  const conn = await within({ clock: world.clock, ms: limit, signal, error }, async (signal) => {
    const { plan, route } = await transports.routed(target, { signal });
    if (route.held) throw transports.tables.refusal(target, route.held);
    if (hops.length > 0) await transports.demandNoHop({ plan, route }, { target, hops });
    log.info("nc.dialing", { transport: route.transport, because: route.because });
    return await transportOf(plan, route).transport.dial(target, { signal });
  });
  held.use(conn);
  const kept = held.move();
  return { conn, halfCloseLinger, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

export async function pacFromFiles(
  world: World,
  source: ConfigSource,
  { authority }: { authority?: string } = {},
): Promise<string> {
  const config = await loadConfig(world, source);
  await using transports = new Transports(world, config);
  await transports.learned({ signal: new AbortController().signal });
  const { address, kind, user } = await configuredListener(world, config);
  return pacFile(transports.plan.router, {
    listener: authority ?? address,
    hasAuth: user !== undefined,
    isHttpOnly: kind === "http",
  });
}

export async function sshHostsFromFiles(world: World, source: ConfigSource): Promise<SshHosts> {
  const config = await loadConfig(world, source);
  await using transports = new Transports(world, config);
  return await transports.sshHosts();
}

/** The proxy settings of an instance with this configuration. */
export async function environmentFromFiles(
  world: World,
  source: ConfigSource,
  options: ProxyEnvironmentOptions,
): Promise<ProxyEnvironment> {
  const config = await loadConfig(world, source);
  await using transports = new Transports(world, config);
  await transports.learned({ signal: new AbortController().signal });
  return proxyEnvironment(transports.plan, await configuredListener(world, config), options);
}

/** The first configured listener with a TCP port. */
async function configuredListener(
  world: World,
  { settings }: Awaited<ReturnType<typeof loadConfig>>,
): Promise<EnvironmentListener> {
  const listen = listenOf(settings);
  const listener = listen.mixed?.[0] ?? listen.http?.[0] ?? listen.socks?.[0];
  const endpoint = listener?.address.sockets.map(({ endpoint }) => endpoint).find((one) => "port" in one);
  if (!listener || !endpoint || !("port" in endpoint)) {
    throw new PosternError("config", "Cannot derive proxy settings: no listener has a TCP port", {
      hint: "add a listener: listen.mixed",
    });
  }
  if (endpoint.port === 0) {
    throw new PosternError(
      "config",
      "Cannot derive proxy settings: the listener has port 0, which changes at each start",
      {
        hint: "start the instance: postern proxy; or give the listener a fixed port",
      },
    );
  }
  const [user] = await readUsers(world.files, listener, listen);
  const address = reachableAt(endpoint);
  const kind = listener === listen.mixed?.[0] ? "mixed" : listener === listen.http?.[0] ? "http" : "socks";
  return { address, kind, user };
}
