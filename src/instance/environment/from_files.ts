import { formatPath, masked } from "../../config/mod.ts";
import { PosternError, type Target } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import type { ExplanationInfo, ProxyEnvironment } from "../../control/mod.ts";
import { ownedInside, pacFile } from "../../routing/mod.ts";
import { explainMeant, storedMeaningOf } from "../dns/meaning.ts";
import {
  type ConfigSource,
  demandLoaded,
  listenOf,
  loadConfig,
  preparePath,
  readConfig,
  readUsers,
  settingsSchemaFor,
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

/** What `config check` prints. */
export interface ConfigCheck {
  /** Absent where there is no file. */
  readonly path?: string;
  readonly errors: readonly string[];
  /** With those of transports. */
  readonly warnings: readonly string[];
  /** What transports have to say that read more than this file; a door starts all the same. */
  readonly transports: readonly TransportReport[];
}

/** Every problem of a configuration, and of what its transports read besides. */
export async function checkConfig(world: World, source: ConfigSource): Promise<ConfigCheck> {
  const { path, isThere, errors, warnings, loaded, place } = await readConfig(world, source);
  const checked = { ...(isThere && { path }), errors, warnings, transports: [] };
  if (!loaded) return checked;
  // What can only be seen by building: nothing is started.
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

/** The configuration in force as it was written, without its secrets. */
export async function showConfig(world: World, source: ConfigSource): Promise<unknown> {
  const report = await readConfig(world, { ...source, withoutCatalogues: true });
  demandLoaded(report);
  return masked(report.value, await settingsSchemaFor(report.value));
}

/** What `Instance.explain` answers, without a running instance. */
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
  return await explainMeant(transports, meaning, { dial, signal });
}

/** The PAC file of a door with this configuration. */
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

/** What programs need to be told to use a door with this configuration. */
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

/** The address that the configuration names; its port is what a door would bind. */
async function configuredListener(
  world: World,
  { settings }: Awaited<ReturnType<typeof loadConfig>>,
): Promise<EnvironmentListener> {
  const listen = listenOf(settings);
  const listener = listen.mixed?.[0] ?? listen.http?.[0] ?? listen.socks?.[0];
  const endpoint = listener?.address.sockets.map(({ endpoint }) => endpoint).find((one) => "port" in one);
  if (!listener || !endpoint || !("port" in endpoint)) {
    throw new PosternError("config", "Cannot tell programs about this door: it listens on no TCP port", {
      hint: "add a listener: listen.mixed",
    });
  }
  if (endpoint.port === 0) {
    throw new PosternError("config", "Cannot tell programs about this door: its port is any free one", {
      hint: "start it: postern proxy; or give its listener a port that stays the same",
    });
  }
  const [user] = await readUsers(world.files, listener, listen);
  const address = reachableAt(endpoint);
  const kind = listener === listen.mixed?.[0] ? "mixed" : listener === listen.http?.[0] ? "http" : "socks";
  return { address, kind, user };
}
