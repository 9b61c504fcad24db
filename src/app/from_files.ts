import { masked } from "../config/mod.ts";
import { silentLog, type Target, type World } from "../core/mod.ts";
import type { ExplanationInfo, ProxyEnvironment } from "../listeners/mod.ts";
import { pacFile } from "../routing/mod.ts";
import { type ConfigSource, demandLoaded, loadConfig, readConfig } from "./config_file.ts";
import { Door } from "./door.ts";
import { prepareWay } from "./explanation.ts";
import {
  proxyEnvironment,
  type ProxyEnvironmentOptions,
  reachableAt,
  type ToldDoor,
} from "./proxy_environment.ts";
import { listenOf, settingsSchema } from "./settings.ts";
import { readUsers } from "./users.ts";

/** Every problem of a configuration, as `config check` prints them. */
export async function checkConfig(
  world: World,
  source: ConfigSource,
): Promise<{ path?: string; errors: readonly string[]; warnings: readonly string[] }> {
  const { path, isThere, errors, warnings, loaded } = await readConfig(world, source);
  if (loaded) {
    // What can only be seen by building: nothing is started.
    await using _door = closedDoor(world, loaded);
  }
  return { ...(isThere && { path }), errors, warnings };
}

/** The configuration in force as it was written, without its secrets. */
export async function showConfig(world: World, source: ConfigSource): Promise<unknown> {
  const report = await readConfig(world, source);
  demandLoaded(report);
  return masked(report.value, settingsSchema);
}

/** What `Door.explain` answers, without a running door. */
export async function explainFromFiles(
  world: World,
  source: ConfigSource,
  { target, dial, signal }: { target: Target; dial: boolean; signal: AbortSignal },
): Promise<ExplanationInfo> {
  await using door = closedDoor(world, await loadConfig(world, source));
  await prepareWay(door.plan, target);
  return await door.explain(target, { dial, signal });
}

/** The PAC file of a door with this configuration. */
export async function pacFromFiles(
  world: World,
  source: ConfigSource,
  { authority }: { authority?: string } = {},
): Promise<string> {
  const config = await loadConfig(world, source);
  await using door = closedDoor(world, config);
  const { address, user } = await configuredDoor(world, config);
  return pacFile(door.plan.router, { door: authority ?? address, hasAuth: user !== undefined });
}

/** What programs need to be told to use a door with this configuration. */
export async function environmentFromFiles(
  world: World,
  source: ConfigSource,
  options: ProxyEnvironmentOptions,
): Promise<ProxyEnvironment> {
  const config = await loadConfig(world, source);
  await using door = closedDoor(world, config);
  return proxyEnvironment(door.plan, await configuredDoor(world, config), options);
}

function closedDoor(world: World, config: Awaited<ReturnType<typeof loadConfig>>): Door {
  const pages = () => () => Promise.resolve({ status: 404, fields: [], body: "" });
  return new Door(world, config, { version: "", id: "", log: silentLog, pages });
}

/** The address that the configuration names; its port is what a door would bind. */
async function configuredDoor(
  world: World,
  { settings }: Awaited<ReturnType<typeof loadConfig>>,
): Promise<ToldDoor> {
  const listen = listenOf(settings);
  const listener = listen.mixed?.[0] ?? listen.http?.[0] ?? listen.socks?.[0];
  if (!listener) return { address: "127.0.0.1:12000" };
  const [user] = await readUsers(world.files, listener, listen);
  const [{ endpoint }] = listener.address.sockets;
  const address = "port" in endpoint ? reachableAt(endpoint) : "127.0.0.1:12000";
  return { address, ...(user && { user }) };
}
