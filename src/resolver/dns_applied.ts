import { directoryOf, type World } from "../world/mod.ts";
import { isPosternError, PosternError } from "../words/mod.ts";
import { within } from "../core/mod.ts";
import {
  delegatesSince,
  type DnsDelegation,
  dnsDirectories,
  dnsMark,
  type DnsSystemFile,
  dnsSystemFiles,
  readDnsSystemFile,
} from "./dns_system.ts";

/** The resolver files that a change wrote and removed. */
export interface DnsChange {
  readonly written: readonly string[];
  readonly removed: readonly string[];
}

/** Marks the files of a directory that postern created; postern removes the directory with its last file. */
const madeLine = "# Its directory was made for it.";

/** Temporary files that an interrupted `Files.replace` left. */
const halfWritten = /\.[0-9a-f]{8}\.tmp$/;

/** Our resolver files, including half-written ones of a killed `dns --apply`. */
export async function appliedDnsFiles(
  { files, places }: Pick<World, "files" | "places">,
): Promise<DnsSystemFile[]> {
  const found: DnsSystemFile[] = [];
  for (const directory of Object.values(dnsDirectories)) {
    const path = `${places.system ?? ""}${directory}`;
    if (!await files.info(path)) continue;
    for (const name of await files.list(path)) {
      const content = await files.readTextIfThere(`${path}/${name}`, { limit: 1_000_000 }).catch((error) => {
        // Other programs may keep files there that we cannot read.
        if (isPosternError(error, "not_allowed") || isPosternError(error, "config")) return undefined;
        throw error;
      });
      const isHalf = content !== undefined && halfWritten.test(name) && dnsMark.startsWith(content);
      if (isHalf || content?.startsWith(dnsMark)) found.push({ path: `${directory}/${name}`, content });
    }
  }
  return found;
}

/** The delegation in these files; undefined without files. */
export function appliedDelegation(files: readonly DnsSystemFile[]): DnsDelegation | undefined {
  const whole = files.filter(({ path }) => !halfWritten.test(path));
  const delegations = whole.flatMap((file) => readDnsSystemFile(file) ?? []);
  const [first] = delegations;
  return first && { server: first.server, domains: delegations.flatMap(({ domains }) => domains) };
}

/** Configures the system resolver. Removes our files that are no longer needed. */
export async function applyDns(
  world: World,
  delegation: DnsDelegation,
  { signal }: { signal: AbortSignal },
): Promise<DnsChange> {
  const { files, process } = world;
  if (process.platform === "windows") {
    throw new PosternError("usage", "Cannot apply NRPT rules: postern only prints them", {
      hint: "run the output of this command as administrator: postern dns --print nrpt",
    });
  }
  const before = await appliedDnsFiles(world);
  const wanted = process.platform === "darwin"
    ? dnsSystemFiles("macos", delegation)
    : dnsSystemFiles("systemd-resolved", delegation, { version: await usedVersion(world, before, signal) });
  await demandOurs(world, wanted);
  const made = madeDirectories(before);
  const written: string[] = [];
  for (const { path, content } of wanted) {
    const directory = directoryOf(path);
    const isMade = await world.files.publicDirectory(inSystem(world, directory)) || made.has(directory);
    if (isMade) made.add(directory);
    const text = isMade ? content.replace(dnsMark, `${dnsMark}\n${madeLine}`) : content;
    if (before.some((file) => file.path === path && file.content === text)) continue;
    await files.replace(inSystem(world, path), text, { mode: 0o644 });
    written.push(path);
  }
  const removed = await removeFiles(
    world,
    before.filter(({ path }) => !wanted.some((file) => file.path === path)),
  );
  if (written.length > 0 || removed.length > 0) await tellResolved(world, [...written, ...removed], signal);
  return { written, removed };
}

/** Removes everything that `applyDns` wrote, and nothing else. */
export async function undoDns(world: World, { signal }: { signal: AbortSignal }): Promise<DnsChange> {
  const removed = await removeFiles(world, await appliedDnsFiles(world));
  if (removed.length > 0) await tellResolved(world, removed, signal);
  return { written: [], removed };
}

/** Throws if another program's file has the same name. */
async function demandOurs(world: World, wanted: readonly DnsSystemFile[]): Promise<void> {
  for (const { path } of wanted) {
    const text = await world.files.readTextIfThere(inSystem(world, path), { limit: 1_000_000 });
    if (text === undefined || text.startsWith(dnsMark)) continue;
    throw new PosternError("config", `Cannot write "${path}": postern did not write the existing file`, {
      exit: 1,
      hint: "check its purpose, then move it away",
    });
  }
}

function madeDirectories(files: readonly DnsSystemFile[]): Set<string> {
  return new Set(
    files.filter(({ content }) => content.includes(madeLine)).map(({ path }) => directoryOf(path)),
  );
}

async function removeFiles(world: World, found: readonly DnsSystemFile[]): Promise<string[]> {
  const { files } = world;
  for (const { path } of found) await files.remove(inSystem(world, path));
  for (const directory of madeDirectories(found)) {
    const path = inSystem(world, directory);
    if (await files.info(path) && (await files.list(path)).length === 0) await files.remove(path);
  }
  return found.map(({ path }) => path);
}

/** Time limits for systemctl to restart systemd-resolved and to print its version, in ms. */
const restartsWithin = 60_000;
const saysWithin = 5000;

/** systemd-resolved reads its files only when it starts or reloads. */
async function tellResolved(
  { process, places, clock }: World,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  if (places.system !== undefined || !paths.some((path) => path.startsWith("/etc/systemd/"))) return;
  const command = ["systemctl", "try-reload-or-restart", "systemd-resolved.service"];
  const failure = (why: string, cause?: unknown) =>
    new PosternError("internal", `Cannot reload systemd-resolved: ${why}`, {
      cause,
      hint: `the files are up to date; run: ${command.join(" ")}`,
    });
  let result: { readonly code: number; readonly stderr: string };
  try {
    const error = () => failure(`systemctl did not finish within ${restartsWithin / 1000} s`);
    result = await within(
      { clock, ms: restartsWithin, signal, error },
      (signal) => process.run(command, { signal }),
    );
  } catch (error) {
    if (signal.aborted || isPosternError(error, "internal")) throw error;
    throw failure("cannot run systemctl", error);
  }
  if (result.code !== 0) {
    throw failure(result.stderr.trim().slice(0, 300) || `systemctl ended with ${result.code}`);
  }
}

/** The systemd version; without the right to run systemctl, derived from existing files. */
async function usedVersion(
  world: World,
  before: readonly DnsSystemFile[],
  signal: AbortSignal,
): Promise<number> {
  const version = await systemdVersion(world, signal);
  const hasDelegate = before.some(({ path }) => path.startsWith(dnsDirectories.delegates));
  return version === 0 && hasDelegate ? delegatesSince : version;
}

/** The systemd version; 0 if unknown. */
export async function systemdVersion(
  { process, clock }: Pick<World, "process" | "clock">,
  signal: AbortSignal,
): Promise<number> {
  const error = () => new PosternError("timeout", "Cannot read the systemd version: no answer in time");
  try {
    const { stdout } = await within(
      { clock, ms: saysWithin, signal, error },
      (signal) => process.run(["systemctl", "--version"], { signal }),
    );
    return Number(/^systemd ([0-9]+)/.exec(stdout)?.[1] ?? 0);
  } catch (error) {
    if (signal.aborted) throw error;
    // Without systemctl the version is unknown; the older files work with every version.
    return 0;
  }
}

function inSystem({ places }: Pick<World, "places">, path: string): string {
  return `${places.system ?? ""}${path}`;
}
