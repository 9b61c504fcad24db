import { plainText, within } from "../../core/mod.ts";
import { PosternError, type Target, targetOf } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { answersAt } from "../answers_at.ts";
import {
  type Desktop,
  desktop,
  type DesktopName,
  desktopOf,
  type DesktopSettings,
  type RunProgram,
} from "./desktops.ts";
import {
  type ChangedSetting,
  isOurs,
  type ProxyState,
  proxyStatePath,
  readProxyState,
  storeProxyState,
} from "./proxy_state.ts";

/** What the system uses now. */
export interface SystemProxy {
  /** The name of the desktop or the system. */
  readonly title: string;
  /** The address of the PAC file in use. */
  readonly pacUrl: string | undefined;
  /** Set if postern changed the settings. */
  readonly state: ProxyState | undefined;
  /** The settings that have another value now than postern gave them. */
  readonly changed: readonly string[];
}

/** The result of `off`. */
export interface RestoredProxy {
  readonly title: string;
  /** The settings that have their previous value again. */
  readonly restored: readonly string[];
  /** The settings that another program has changed since; postern keeps them. */
  readonly left: readonly string[];
}

/** Time limit for a program of the desktop, in ms. */
const finishesWithin = 20_000;
/** Without a locale for UTF-8, gsettings prints "?" for each other character. */
const utf8 = { LC_ALL: "C.UTF-8" };
/** The maximum size of its output, in bytes. */
const mostOutput = 256 * 1024;

type Settled = Pick<World, "process" | "clock" | "files" | "places">;

interface RunOptions {
  readonly signal: AbortSignal;
}

/** The system's proxy settings. `name` is the desktop (default: the one of this session). */
export async function systemProxy(
  world: Settled,
  { name }: { readonly name?: DesktopName | undefined },
  options: RunOptions,
): Promise<SystemProxy> {
  const state = await readProxyState(world);
  const used = name ?? state?.desktop ?? sessionDesktop(world);
  const { title, read, pacUrl } = desktopFor(world, used);
  const now = await read(runner(world, options));
  const own = state?.desktop === used ? state : undefined;
  const changed = own?.settings.filter(({ key, set }) => now.get(key) !== set).map(({ key }) => key) ?? [];
  return { title, pacUrl: pacUrl(now), state: own, changed };
}

/**
 * Makes the system use a PAC file. Stores the previous settings first, so that they can be restored even after a crash.
 * A repeated call keeps those of the first one, unless another program has changed the settings meanwhile.
 */
export async function setSystemProxy(
  world: Settled,
  { name, id, url }: { readonly name?: DesktopName | undefined; readonly id: string; readonly url: string },
  options: RunOptions,
): Promise<{ readonly title: string; readonly isChanged: boolean }> {
  await world.files.privateDirectory(world.places.state);
  using _lock = await lockState(world);
  const state = await readProxyState(world);
  const used = name ?? sessionDesktop(world);
  if (state && state.desktop !== used) throw otherDesktop(world, state);
  const { title, read, wanted, ...parts } = desktopFor(world, used);
  const run = runner(world, options);
  const now = await read(run);
  const former = new Map(state?.settings.map((setting) => [setting.key, setting]));
  const settings = [...wanted(url, now)].map(([key, set = ""]): ChangedSetting => {
    const earlier = former.get(key);
    const value = now.get(key);
    return earlier && isOurs(earlier, value)
      ? { key, before: earlier.before, set, replaced: value }
      : { key, before: value ?? null, set };
  });
  await storeProxyState(world, { desktop: used, id, url, settings });
  const changes = settings.filter(({ key, set }) => now.get(key) !== set);
  await writeAll(new Map(changes.map(({ key, set }) => [key, set])), { title, read, wanted, ...parts }, run);
  return { title, isChanged: changes.length > 0 };
}

/** Restores the previous settings, except those that another program changed; undefined if postern changed none. */
export async function restoreSystemProxy(
  world: Settled,
  options: RunOptions,
): Promise<RestoredProxy | undefined> {
  if (!await readProxyState(world)) return undefined;
  using _lock = await lockState(world);
  const state = await readProxyState(world);
  if (!state) return undefined;
  const parts = desktopFor(world, state.desktop);
  const run = runner(world, options);
  const now = await parts.read(run);
  const restored = new Map<string, string | undefined>();
  const left: string[] = [];
  // In reverse: the setting that selects the PAC file was written last.
  for (const setting of state.settings.toReversed()) {
    const { key, before } = setting;
    const value = now.get(key);
    // A network service may be gone.
    if (!now.has(key) || (value ?? null) === before) continue;
    if (isOurs(setting, value)) restored.set(key, before ?? undefined);
    else left.push(key);
  }
  await writeAll(restored, parts, run);
  await world.files.remove(proxyStatePath(world));
  return { title: parts.title, restored: [...restored.keys()], left };
}

/** Restores the previous settings if nothing answers at the address of the PAC file. */
export async function restoreDeadProxy(
  world: Settled & Pick<World, "network">,
  options: RunOptions,
): Promise<RestoredProxy | undefined> {
  const state = await readProxyState(world);
  if (!state || await answersAt(world, pacTarget(state), options)) return undefined;
  return await restoreSystemProxy(world, options);
}

/** The server of the PAC file. */
export function pacTarget({ url }: Pick<ProxyState, "url">): Target {
  if (URL.canParse(url)) return targetOf(new URL(url));
  throw new PosternError(
    "config",
    `Cannot read the address of the PAC file: "${plainText(url)}" is not a URL`,
    {
      hint: "restore the previous settings: postern system-proxy off",
    },
  );
}

/**
 * The PAC file's address on the best of these listeners, one without a password. Only on loopback: off loopback the
 * `Host` check rejects browsers, which would then connect directly.
 */
export function pacAddress(
  listeners: readonly { readonly kind: string; readonly address: string; readonly auth: boolean }[],
): string | undefined {
  const found = listeners.filter(({ kind }) => kind === "mixed" || kind === "http")
    .map(({ address, auth }) => ({
      address: address.replace(/^0\.0\.0\.0(?=:)/, "127.0.0.1").replace(/^\[::\](?=:)/, "[::1]"),
      auth,
    }))
    .filter(({ address }) => /^(127\.[\d.]+|\[::1\]|localhost):[1-9]\d*$/.test(address));
  const best = found.find(({ auth }) => !auth) ?? found[0];
  return best && `http://${best.address}/proxy.pac`;
}

/** Writes settings and reads them again: some programs report success without a session to write to. */
async function writeAll(changes: DesktopSettings, parts: Desktop, run: RunProgram): Promise<void> {
  const { title, read, write, announce } = parts;
  for (const [key, value] of changes) {
    for (const command of write(key, value)) await run(command);
  }
  if (changes.size === 0) return;
  const now = await read(run);
  const failed = [...changes].filter(([key, value]) => now.get(key) !== value).map(([key]) => key);
  if (failed.length > 0) {
    throw new PosternError("config", `Cannot change the proxy settings of ${title}`, {
      reason: `${failed.join(", ")} kept the old value`,
      exit: 1,
      hint: "run the command in a terminal of the desktop session",
    });
  }
  if (announce) await run(announce).catch((error) => demandAbsent(error));
}

/** Ignores a failed announcement, but not an interruption. */
function demandAbsent(error: unknown): void {
  if (!(error instanceof PosternError) || error.code === "cancelled") throw error;
}

function runner({ process, clock }: Pick<World, "process" | "clock">, { signal }: RunOptions): RunProgram {
  return async (command, env) => {
    const [program = ""] = command;
    const text = command.slice(0, 2).join(" ");
    const error = () =>
      new PosternError("timeout", `Cannot run "${text}": not finished after ${finishesWithin / 1000} s`);
    const { code, stdout, stderr } = await within(
      { clock, ms: finishesWithin, signal, error },
      (signal) => process.run(command, { signal, limit: mostOutput, env: { ...utf8, ...env } }),
    );
    if (code === 0) return stdout;
    const said = (stderr.trim() || stdout.trim()).split("\n").at(-1) ?? "";
    throw new PosternError("config", `Cannot run "${text}"`, {
      reason: plainText(said, { limit: 200 }) || `${program} ended with ${code}`,
      exit: 1,
      hint: "run the command in a terminal of the desktop session, or select the desktop with --desktop",
    });
  };
}

function sessionDesktop({ process }: Pick<World, "process">): DesktopName {
  return desktopOf(process.platform, process.env);
}

function desktopFor({ process }: Pick<World, "process">, name: DesktopName): Desktop {
  return desktop(name, process.env);
}

async function lockState({ files, places }: Pick<World, "files" | "places">): Promise<Disposable> {
  const lock = await files.lock(`${places.state}/system-proxy.lock`, { removes: true });
  if (lock) return lock;
  throw new PosternError("config", "Cannot change the system proxy: another postern is changing it", {
    exit: 1,
    hint: "wait for the other command, then try again",
  });
}

function otherDesktop(world: Settled, { desktop: name }: ProxyState): PosternError {
  const { title } = desktopFor(world, name);
  return new PosternError(
    "config",
    `Cannot set the system proxy: postern has set it in ${title}`,
    {
      exit: 1,
      hint: "restore that setting first: postern system-proxy off",
    },
  );
}
