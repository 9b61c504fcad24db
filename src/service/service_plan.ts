import { directoryOf, type World } from "../world/mod.ts";
import { formatTarget, PosternError } from "../words/mod.ts";
import { listenerKinds } from "../listeners/mod.ts";
import {
  configPath,
  keptKubeconfigs,
  limitsOf,
  listenOf,
  loadConfig,
  type LoadedConfig,
} from "../plan/mod.ts";
import { launchdPlists, serviceLabel, updateLabel } from "./launchd_plist.ts";
import { demandRoutes } from "../instance/mod.ts";
import { type ServiceFile, servicesName, writtenBy } from "./service_file.ts";
import { bootout, domain, type ManagerCommand, systemctl } from "./service_manager.ts";
import { systemdUnits, timerName } from "./systemd_units.ts";

export interface ServiceOptions {
  /** The configuration file that the user names; if undefined, the environment or the platform sets it. */
  readonly config?: string;
  /** By default false on Linux (on demand) and true on macOS. */
  readonly isAlways?: boolean;
  readonly hasTimer: boolean;
  /** As the user wrote it. */
  readonly idleExit?: string;
  /** The files are only printed, so existing files do not matter. */
  readonly isPrinted?: boolean;
}

/** The steps of an installation. */
export interface ServicePlan {
  readonly isAlways: boolean;
  readonly files: readonly PlannedFile[];
  /** Our files that this form of the service does not need. */
  readonly removed: readonly string[];
  /** Commands to run before files are removed, and after all files are written. */
  readonly before: readonly ManagerCommand[];
  readonly after: readonly ManagerCommand[];
  readonly addresses: readonly string[];
  /** The `KUBECONFIG` in the files; a service does not inherit it. */
  readonly kubeconfigs?: string;
  /** Why an instance would fail to start now. */
  readonly problem?: PosternError | undefined;
}

export interface PlannedFile extends ServiceFile {
  readonly state: "new" | "changed" | "same";
}

/** Plans the service on this machine; throws if another program's file is in the way. */
export async function planService(world: World, options: ServiceOptions): Promise<ServicePlan> {
  const platform = servicePlatform(world);
  const isAlways = options.isAlways ?? platform === "darwin";
  const config = await loadConfig(world, {
    ...(options.config === undefined ? {} : { config: options.config }),
  });
  const addresses = addressesOf(config);
  if (!isAlways) demandFixedPorts(addresses);
  const { process, places } = world;
  const named = options.config ?? process.env("POSTERN_CONFIG");
  // The service has a different working directory and environment.
  const common = named ? [`--config=${configPath(world, named)}`] : [];
  const idleExit = options.idleExit === undefined ? [] : [`--idle-exit=${options.idleExit}`];
  const onDemand = platform === "darwin" ? "launchd=proxy" : `systemd=${servicesName}.socket`;
  const agent = lastingAgent(world);
  const runtime = process.env("XDG_RUNTIME_DIR");
  const kubeconfigs = keptKubeconfigs(world);
  const made = {
    isAlways,
    self: process.self,
    serviceArguments: ["proxy", ...common, ...(isAlways ? [] : [`--on-demand=${onDemand}`]), ...idleExit],
    updateArguments: ["update", "--if-older-than=12h", "--no-sign-in", ...common],
    hasTimer: options.hasTimer,
    addresses,
    drain: limitsOf(config.settings).drain,
    ...(agent === undefined ? {} : { agent }),
    ...(runtime ? { runtime } : {}),
    ...(kubeconfigs === undefined ? {} : { kubeconfigs }),
  };
  const files = platform === "darwin" ? launchdPlists(places.home, made) : systemdUnits(unitsOf(world), made);
  const planned: PlannedFile[] = [];
  for (const file of files) {
    planned.push({ ...file, state: options.isPrinted ? "new" : await stateOf(world, file) });
  }
  const wanted = new Set(files.map(({ path }) => path));
  const removed = (await installedFiles(world)).filter((path) => !wanted.has(path));
  const problem = problemOf(config);
  const isChanged = removed.length > 0 || planned.some(({ state }) => state !== "same");
  return {
    isAlways,
    files: planned,
    removed,
    ...commandsFor(world, { isAlways, hasTimer: options.hasTimer, isChanged, removed, planned }),
    addresses,
    ...(kubeconfigs === undefined ? {} : { kubeconfigs }),
    problem,
  };
}

/** The steps of a removal. */
export interface RemovalPlan {
  readonly removed: readonly string[];
  readonly before: readonly ManagerCommand[];
  readonly after: readonly ManagerCommand[];
}

export async function planRemoval(world: World): Promise<RemovalPlan> {
  const platform = servicePlatform(world);
  const removed = await installedFiles(world);
  if (removed.length === 0) return { removed, before: [], after: [] };
  if (platform === "darwin") {
    return { removed, before: removed.map((path) => bootout(world, nameOf(path))), after: [] };
  }
  return {
    removed,
    before: [systemctl("disable", "--now", ...removed.map(nameOf).sort(socketsFirst))],
    after: [systemctl("daemon-reload")],
  };
}

/** The platform; throws if it has no supported service manager. */
export function servicePlatform({ process: { platform } }: World): "linux" | "darwin" {
  if (platform !== "windows") return platform;
  throw new PosternError(
    "usage",
    "Cannot install a service on Windows: postern supports only systemd and launchd",
    {
      exit: 1,
      hint: "start it at logon with the Task Scheduler: postern proxy --background",
    },
  );
}

/** The TCP addresses of all listeners; a service manager can bind these. */
function addressesOf({ settings }: LoadedConfig): string[] {
  const listen = listenOf(settings);
  return listenerKinds.flatMap((kind) => listen[kind] ?? []).flatMap(({ address }) =>
    address.sockets.flatMap(({ endpoint }) => "port" in endpoint ? [formatTarget(endpoint)] : [])
  );
}

function demandFixedPorts(addresses: readonly string[]): void {
  const isFree = addresses.some((address) => address.endsWith(":0"));
  if (addresses.length > 0 && !isFree) return;
  throw new PosternError(
    "config",
    isFree
      ? "Cannot start on demand: port 0 changes at each start"
      : "Cannot start on demand: no configured listener has a TCP port",
    { hint: "set a port in listen.mixed, or use --always" },
  );
}

function problemOf(config: LoadedConfig): PosternError | undefined {
  try {
    demandRoutes(config);
    return undefined;
  } catch (error) {
    if (error instanceof PosternError) return error;
    throw error;
  }
}

/**
 * The agent's socket, if its path is the same after the next login. GNOME sets its variable only for desktop
 * programs, not for systemd units.
 */
function lastingAgent({ process, places }: World): string | undefined {
  const socket = process.env("SSH_AUTH_SOCK");
  const runtime = process.env("XDG_RUNTIME_DIR");
  if (socket) {
    const lasting = [`${places.home}/`, ...(runtime ? [`${runtime}/`] : [])];
    return lasting.some((start) => socket.startsWith(start)) ? socket : undefined;
  }
  const isGnome = /\bGNOME\b/i.test(process.env("XDG_CURRENT_DESKTOP") ?? "");
  return isGnome && runtime ? `${runtime}/gcr/ssh` : undefined;
}

/** The systemd directory next to our configuration, as XDG defines it. */
function unitsOf({ places }: World): string {
  return `${directoryOf(places.config)}/systemd/user`;
}

function possibleFiles(world: World): string[] {
  if (world.process.platform === "darwin") {
    return [serviceLabel, updateLabel].map((label) =>
      `${world.places.home}/Library/LaunchAgents/${label}.plist`
    );
  }
  return ["postern.socket", "postern.service", timerName, "postern-update.service"]
    .map((name) => `${unitsOf(world)}/${name}`);
}

/** The installed files that postern wrote. */
export async function installedFiles(world: World): Promise<string[]> {
  const found: string[] = [];
  for (const path of possibleFiles(world)) {
    if ((await world.files.readTextIfThere(path))?.includes(writtenBy)) found.push(path);
  }
  return found;
}

async function stateOf({ files }: World, { path, content }: ServiceFile): Promise<PlannedFile["state"]> {
  const text = await files.readTextIfThere(path);
  if (text === undefined) return "new";
  if (text === content) return "same";
  if (text.includes(writtenBy)) return "changed";
  throw new PosternError("config", `Cannot write "${path}": postern did not write the existing file`, {
    exit: 1,
    hint: "move it away, or compare it: postern service-install --print",
  });
}

interface Change {
  readonly isAlways: boolean;
  readonly hasTimer: boolean;
  readonly isChanged: boolean;
  readonly removed: readonly string[];
  readonly planned: readonly PlannedFile[];
}

function commandsFor(
  world: World,
  { isAlways, hasTimer, isChanged, removed, planned }: Change,
): Pick<ServicePlan, "before" | "after"> {
  if (world.process.platform === "darwin") {
    const changed = planned.filter(({ state }) => state !== "same");
    const known = changed.filter(({ state }) => state === "changed").map(({ name }) => name);
    return {
      before: [...removed.map(nameOf), ...known].map((label) => bootout(world, label)),
      after: changed.map(({ path }): ManagerCommand => ["launchctl", "bootstrap", domain(world), path]),
    };
  }
  const main = `${servicesName}.${isAlways ? "service" : "socket"}`;
  const gone = removed.map(nameOf).sort(socketsFirst);
  const timer = hasTimer ? [systemctl("enable", "--now", timerName)] : [];
  if (!isChanged) return { before: [], after: [systemctl("enable", "--now", main), ...timer] };
  return {
    before: gone.length === 0 ? [] : [systemctl("disable", "--now", ...gone)],
    after: [
      systemctl("daemon-reload"),
      // A socket cannot start while its service runs without it, and an always-running service must be
      // disabled.
      ...(isAlways ? [] : [systemctl("disable", "--now", `${servicesName}.service`)]),
      systemctl("enable", main),
      systemctl("restart", main),
      ...timer,
    ],
  };
}

/** The name of a file's unit or agent. */
export function nameOf(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return name.endsWith(".plist") ? name.slice(0, -".plist".length) : name;
}

/** Sockets first: otherwise a socket would restart its stopped service. */
function socketsFirst(a: string, b: string): number {
  return Number(b.endsWith(".socket")) - Number(a.endsWith(".socket"));
}
